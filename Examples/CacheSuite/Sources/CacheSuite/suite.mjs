// What only JavaScript can do with a checkout of the suite.
//
//   node suite.mjs export CHECKOUT    prints its tests as JSON
//   node suite.mjs serve CHECKOUT     runs its server on a free port of 127.0.0.1, prints the URL, ends with its input
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'

const [job, folder] = process.argv.slice(2)
const checkout = path.resolve(folder)
const load = file => import(pathToFileURL(path.join(checkout, file)))

async function exportTests () {
  const suites = (await load('tests/index.mjs')).default.map(suite => ({
    id: suite.id,
    name: suite.name,
    tests: suite.tests.map(test => {
      const requests = test.requests.map(request => ({ ...request, name: test.name, id: test.id }))
      return {
        id: test.id,
        kind: test.kind ?? 'required',
        dependencies: test.depends_on ?? [],
        // The profile of the suite's page for browsers.
        isForBrowsers: test.cdn_only !== true && test.browser_skip !== true,
        isForCDNs: test.cdn_only === true,
        requests,
        // As text, because the server is to get exactly what the suite's own client would send.
        configuration: JSON.stringify(requests)
      }
    })
  }))
  process.stdout.write(JSON.stringify(suites, (key, value) => {
    if (typeof value === 'function') throw new Error(`a test has a function: ${key}`)
    return value
  }))
}

async function serve () {
  process.env.npm_config_protocol = 'http'
  process.env.npm_config_port = '0'
  process.env.npm_config_pidfile = os.devNull
  console.log = console.error
  const listen = net.Server.prototype.listen
  net.Server.prototype.listen = function () {
    // Longer than any pause of a test: a connection that ends just as it is used again would fail a test.
    this.keepAliveTimeout = 60_000
    this.once('listening', () => process.stdout.write(`http://127.0.0.1:${this.address().port}\n`))
    return listen.call(this, 0, '127.0.0.1')
  }
  process.stdin.resume().on('end', () => process.exit())
  process.chdir(checkout)
  await load('test-engine/server/server.mjs')
}

await (job === 'export' ? exportTests() : serve())
