import Foundation
import Martlet
import MartletHAR

/// A page with the requests of a HAR file: a waterfall, filters and each request's details.
///
/// The page is a single file that loads nothing. The contents of the entries are shown as text and never become
/// elements.
struct HARPage {
  let title: String
  let entries: [HAREntry]

  var html: Data {
    var data = Data(Self.before.replacing("{title}", with: Self.escaped(title)).utf8)
    var file = HARFile()
    file.entries = entries
    // Escaped, because `</script>` in an entry would end the element.
    for octet in file.data() {
      if octet == UInt8(ascii: "<") { data += Data("\\u003c".utf8) } else { data.append(octet) }
    }
    data += Data(Self.after.utf8)
    return data
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
  }

  private static let before = #"""
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
    <title>{title}</title>
    <style>
    :root { color-scheme: light dark; --back: #fff; --text: #1d1f23; --dim: #646b75; --line: #dfe2e7; --pick: #e8f0fe;
      --blocked: #b3b9c2; --connect: #d98a1f; --wait: #2f7fd1; --receive: #2c9a5b; --bad: #c5352c; --good: #1e7b45; }
    @media (prefers-color-scheme: dark) {
      :root { --back: #16181d; --text: #e6e8eb; --dim: #9aa2ad; --line: #2c313a; --pick: #22324a;
        --blocked: #59616d; --connect: #e0a04a; --wait: #5ba3ea; --receive: #4fbf80; --bad: #ff7a70; --good: #5fce92; } }
    * { box-sizing: border-box; }
    body { margin: 0; background: var(--back); color: var(--text); font: 14px/1.45 system-ui, sans-serif;
      display: grid; grid-template-rows: auto 1fr; height: 100vh; }
    header { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; padding: 10px 16px;
      border-bottom: 1px solid var(--line); }
    h1 { font-size: 16px; margin: 0; }
    input, select { font: inherit; color: inherit; background: var(--back); border: 1px solid var(--line);
      border-radius: 6px; padding: 4px 8px; }
    input { min-width: 16em; }
    .legend span::before { content: ""; display: inline-block; width: 10px; height: 10px; margin: 0 4px 0 10px;
      background: var(--c); border-radius: 2px; }
    main { display: grid; grid-template-columns: minmax(0, 1fr); min-height: 0; }
    main.open { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); }
    #list, #detail { overflow: auto; min-height: 0; }
    #detail { border-left: 1px solid var(--line); padding: 12px 16px; }
    .row { display: grid; grid-template-columns: 5em 3.5em 6em 6em minmax(0, 1fr) 34%; gap: 8px; padding: 2px 16px;
      height: 26px; align-items: center; content-visibility: auto; contain-intrinsic-size: auto 26px; cursor: pointer; }
    .row.names { position: sticky; top: 0; background: var(--back); color: var(--dim); z-index: 1; cursor: default;
      border-bottom: 1px solid var(--line); content-visibility: visible; }
    .row[aria-selected=true] { background: var(--pick); }
    .row > * { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
    .number { text-align: right; font-variant-numeric: tabular-nums; }
    .good { color: var(--good); } .bad { color: var(--bad); } .dim { color: var(--dim); }
    .bar { position: relative; height: 12px; }
    .bar i { position: absolute; min-width: 1px; height: 100%; background: var(--c); }
    .blocked { --c: var(--blocked); } .connect { --c: var(--connect); } .wait { --c: var(--wait); }
    .receive { --c: var(--receive); }
    h2 { font-size: 13px; margin: 16px 0 4px; color: var(--dim); }
    h2:first-child { margin-top: 0; }
    dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 2px 12px; margin: 0; }
    dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
    pre { margin: 0; padding: 8px; border: 1px solid var(--line); border-radius: 6px; max-height: 24em; overflow: auto;
      white-space: pre-wrap; overflow-wrap: anywhere; font: 12px/1.5 ui-monospace, monospace; }
    ol { margin: 0; padding-left: 1.4em; }
    #list:focus-visible { outline: none; }
    #list:focus-visible [aria-selected=true], :focus-visible { outline: 2px solid var(--wait); outline-offset: -2px; }
    </style>
    </head>
    <body>
    <header>
    <h1>{title}</h1>
    <input id="filter" type="search" placeholder="Filter (/)" aria-label="Filter by URL, header field or body">
    <select id="status" aria-label="Status"><option value="">every status</option><option value="2">2xx</option>
      <option value="3">3xx</option><option value="4">4xx</option><option value="5">5xx</option>
      <option value="failed">failed</option></select>
    <select id="method" aria-label="Method"><option value="">every method</option></select>
    <span id="summary" role="status"></span>
    <span class="legend dim"><span class="blocked">blocked</span><span class="connect">connecting</span><span
      class="wait">waiting</span><span class="receive">receiving</span></span>
    </header>
    <main>
    <div id="list" role="listbox" tabindex="0" aria-label="Requests: arrow keys move, Enter opens, Escape closes"></div>
    <section id="detail" hidden aria-label="Details" tabindex="0"></section>
    </main>
    <script type="application/json" id="entries">
    """#

  private static let after = #"""
    </script>
    <script>
    "use strict";
    const entries = JSON.parse(document.getElementById("entries").textContent).log.entries;
    const $ = id => document.getElementById(id);
    const make = (tag, text, name) => {
      const element = document.createElement(tag);
      if (text !== undefined) element.textContent = text;
      if (name) element.className = name;
      return element;
    };
    const time = ms => ms < 10 ? ms.toFixed(1) + " ms" : ms < 1000 ? ms.toFixed(0) + " ms" : (ms / 1000).toFixed(2) + " s";
    const size = n => n < 0 ? "?" : n < 1e3 ? n + " B" : n < 1e6 ? (n / 1e3).toFixed(1) + " kB"
      : n < 1e9 ? (n / 1e6).toFixed(1) + " MB" : (n / 1e9).toFixed(1) + " GB";
    const part = value => Math.max(value, 0);
    const received = e => e.response.bodySize >= 0 ? e.response.bodySize : e.response.status > 0
      ? e.response.content.size : -1;
    const failed = e => e._error !== undefined || e.response.status <= 0;
    for (const e of entries) e.start = Date.parse(e.startedDateTime) || 0;
    const text = e => e.text ??= JSON.stringify([e.request.url, e.request.headers, e.response.headers, e._explanation,
      e._error, e._tag, e.request.postData && e.request.postData.text, e.response.content.text,
      (e._webSocketMessages || []).map(message)]).toLowerCase();
    const message = m => (m.type === "send" ? "sent" : "received") + (m.opcode === 8 ? " close frame" : "") + ": "
      + (m.opcode === 1 ? m.data : m.data && "base64: " + m.data) + (m._truncated ? " (" + size(m._size) + ")" : "");
    entries.sort((a, b) => a.start - b.start);
    const start = entries.length ? entries[0].start : 0;
    const length = entries.reduce((end, e) => Math.max(end, e.start + e.time - start), 0.001);

    function row(e, index) {
      const row = make("div", undefined, "row");
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", "false");
      row.id = "row" + index;
      row.append(make("span", e.request.method));
      const status = e.response.status;
      row.append(make("span", status > 0 ? status : "–", "number " + (failed(e) || status >= 400 ? "bad" : status < 300 ? "good" : "")));
      row.append(make("span", e._fromCache ? "stored" : size(received(e)), "number"));
      row.append(make("span", time(e.time), "number"));
      const address = make("span", e.request.url.replace(/^https?:\/\//, ""));
      address.title = e.request.url;
      row.append(address);
      const bar = make("span", undefined, "bar");
      const t = e.timings;
      let at = e.start - start;
      for (const [name, value] of [["blocked", part(t.blocked)], ["connect", part(t.dns) + part(t.connect)],
        ["wait", part(t.send) + part(t.wait)], ["receive", part(t.receive)]]) {
        if (!value && (e.time || name !== "wait")) continue;
        const piece = make("i", undefined, name);
        piece.style.left = Math.min(100 * at / length, 99.8) + "%";
        piece.style.width = (100 * value / length) + "%";
        bar.append(piece);
        at += value;
      }
      row.append(bar);
      row.addEventListener("click", () => { select(index); open(); });
      return row;
    }

    const rows = entries.map(row);
    const names = make("div", undefined, "row names");
    names.setAttribute("aria-hidden", "true");
    for (const [text, name] of [["Method"], ["Status", "number"], ["Size", "number"], ["Time", "number"], ["URL"],
      ["Waterfall"]]) names.append(make("span", text, name));
    const list = $("list");
    list.append(names, ...rows);
    for (const method of [...new Set(entries.map(e => e.request.method))].sort()) {
      const option = make("option", method);
      option.value = method;
      $("method").append(option);
    }

    let shown = entries.map((_, index) => index), selected = -1;
    function filter() {
      const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
      const status = $("status").value, method = $("method").value;
      shown = [];
      entries.forEach((e, index) => {
        const fits = words.every(word => text(e).includes(word))
          && (!method || e.request.method === method)
          && (!status || (status === "failed" ? failed(e) : String(e.response.status).startsWith(status)));
        rows[index].hidden = !fits;
        rows[index].style.display = fits ? "" : "none";
        if (fits) shown.push(index);
      });
      const bytes = shown.reduce((sum, index) => sum + part(received(entries[index])), 0);
      const bad = shown.filter(index => failed(entries[index])).length;
      $("summary").textContent = (shown.length === 1 ? "1 request" : shown.length + " requests") + ", " + size(bytes)
        + " received, " + time(length) + (bad ? ", " + bad + " failed" : "");
    }
    function select(index) {
      if (selected >= 0) rows[selected].setAttribute("aria-selected", "false");
      selected = index;
      rows[index].setAttribute("aria-selected", "true");
      rows[index].scrollIntoView({ block: "nearest" });
      list.setAttribute("aria-activedescendant", "row" + index);
      if (!$("detail").hidden) open();
    }
    function section(title, element) { $("detail").append(make("h2", title), element); }
    function fields(items) {
      const list = make("dl");
      for (const [name, value] of items) list.append(make("dt", name), make("dd", value));
      return list;
    }
    function pretty(body) {
      if (body.encoding === "base64") return "base64: " + body.text;
      // A longer number would be shown as another one.
      if (/json/i.test(body.mimeType || "") && !/\d{16}/.test(body.text)) try { return JSON.stringify(JSON.parse(body.text), null, 2); } catch { }
      return body.text;
    }
    function show(title, body) {
      if (!body) return;
      const note = body.comment ? " (" + body.comment + ")" : "";
      if (body.text) section(title + note, make("pre", pretty(body)));
      else if (note) section(title + note, make("span"));
    }
    function open() {
      if (selected < 0) return;
      const e = entries[selected], detail = $("detail"), t = e.timings;
      detail.hidden = false;
      document.querySelector("main").className = "open";
      detail.textContent = "";
      const general = [["URL", e.request.url], ["Method", e.request.method],
        ["Status", e.response.status ? e.response.status + " " + e.response.statusText : "none"],
        ["HTTP version", e.response.httpVersion || "unknown"], ["Started", e.startedDateTime], ["Time", time(e.time)],
        ["Received", size(received(e))]];
      if (e.serverIPAddress) general.push(["Server", e.serverIPAddress]);
      if (e._error) general.push(["Error", e._error]);
      if (e._call) general.push(["Call", e._call + (e._redirect ? ", redirect " + e._redirect : "")
        + (e._attempt ? ", attempt " + e._attempt : "")]);
      if (e._tag) general.push(["Tag", e._tag]);
      section("General", fields(general));
      if (e._explanation) {
        const reasons = make("ol");
        for (const sentence of e._explanation) reasons.append(make("li", sentence));
        section("Explanation", reasons);
      }
      section("Timings", fields(Object.entries(t).filter(([, value]) => typeof value === "number" && value >= 0)
        .map(([name, value]) => [name, time(value)])));
      section("Request header", fields(e.request.headers.map(h => [h.name, h.value])));
      show("Request body", e.request.postData);
      section("Response header", fields(e.response.headers.map(h => [h.name, h.value])));
      show("Response body", e.response.content);
      const messages = e._webSocketMessages || [];
      if (messages.length) {
        const list = make("ol");
        for (const m of messages.slice(0, 1000)) list.append(make("li", message(m)));
        section(messages.length > 1000 ? "The first 1,000 of " + messages.length + " messages" : "Messages", list);
      }
      detail.scrollTop = 0;
    }
    function close() {
      $("detail").hidden = true;
      document.querySelector("main").className = "";
      list.focus();
    }
    document.addEventListener("keydown", event => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const isField = /INPUT|SELECT/.test(event.target.tagName);
      if (event.key === "/" && !isField) { $("filter").focus(); event.preventDefault(); return; }
      if (event.key === "Escape") { isField ? list.focus() : close(); return; }
      if (isField) { if (event.key === "Enter") list.focus(); return; }
      const place = shown.indexOf(selected);
      const to = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: shown.length - 1,
        PageDown: place + 20, PageUp: place - 20 }[event.key];
      if (to !== undefined && shown.length && !event.target.closest("#detail")) {
        select(shown[Math.min(Math.max(to, 0), shown.length - 1)]);
        event.preventDefault();
      } else if (event.key === "Enter" && shown.includes(selected)) open();
    });
    for (const id of ["filter", "status", "method"]) $(id).addEventListener("input", () => {
      filter();
      if (shown.length && !shown.includes(selected)) select(shown[0]);
    });
    filter();
    if (entries.length) select(0);
    list.focus();
    </script>
    </body>
    </html>

    """#
}
