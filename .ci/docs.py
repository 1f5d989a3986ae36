"""Completes the documentation site that `docc merge` wrote, and checks that its links and files exist.

    python3 .ci/docs.py SITE [BASE]  SITE is the site's folder, BASE the path below which a server publishes it
"""

import json
import pathlib
import re
import shutil
import sys
import urllib.parse

# The hosts that articles may link to.
HOSTS = {"publicsuffix.org"}

site = pathlib.Path(sys.argv[1])
base = "/" + (sys.argv[2] if len(sys.argv) > 2 else "").strip("/")
base = base if base == "/" else base + "/"
failures = []


def complete():
    """Gives the landing page the overview of `Martlet`, modules a link to it, and the root a redirect to it."""
    landing = site / "data/documentation.json"
    page = json.loads(landing.read_text())
    module = json.loads((site / "data/documentation/martlet.json").read_text())
    page["abstract"] = module["abstract"]
    page["primaryContentSections"] = module["primaryContentSections"]
    page["references"] = module["references"] | page["references"]
    page["topicSections"][0]["title"] = "Modules"
    landing.write_text(json.dumps(page))

    top = {"identifier": page["identifier"]["url"], "type": "topic", "kind": "article", "role": "collection",
           "title": "All modules", "url": "/documentation", "abstract": []}
    for path in site.glob("data/documentation/*.json"):
        module = json.loads(path.read_text())
        module["hierarchy"]["paths"] = [[top["identifier"]]]
        module["references"][top["identifier"]] = top
        path.write_text(json.dumps(module))

    # GitHub Pages sends 404.html for unknown paths; DocC's page then reports them.
    shutil.move(site / "index.html", site / "404.html")
    (site / "index.html").write_text(
        f'<!doctype html><title>Martlet</title><meta http-equiv="refresh" content="0; url={base}documentation/">\n'
        f'<a href="{base}documentation/">Documentation</a>\n')
    (site / "theme-settings.json").write_text('{}\n')
    for name in ["link-hierarchy.json", "linkable-entities.json", "metadata.json"]:
        (site / name).unlink(missing_ok=True)


def nodes(value):
    """All objects of a page, except those of its table of references."""
    if isinstance(value, dict):
        yield value
    for item in (value[key] for key in value if key != "references") if isinstance(value, dict) else value:
        if isinstance(item, (dict, list)):
            yield from nodes(item)


def check_page(path, page):
    """Checks a page's references, and returns the pages that it links to."""
    references = page.get("references", {})
    used = set()
    for node in nodes(page):
        used.update([node["identifier"]] if isinstance(node.get("identifier"), str) else node.get("identifiers", []))
        if re.search(r"\bdoc:[/\w]", node.get("text", "")):
            failures.append(f"{path}: unresolved link in the text: {node['text']}")
    linked = set()
    for identifier in used:
        reference = references.get(identifier, {"type": "missing"})
        match reference["type"]:
            case "topic" | "section":
                target, _, anchor = reference["url"].partition("#")
                linked.add(target)
                if target not in pages:
                    failures.append(f"{path}: there is no page {target}")
                elif anchor and urllib.parse.unquote(anchor) not in anchors(pages[target]):
                    failures.append(f"{path}: {target} has no heading {anchor}")
            case "link":
                url = urllib.parse.urlsplit(reference["url"])
                if url.scheme != "https" or url.hostname not in HOSTS:
                    failures.append(f"{path}: {reference['url']} is not an https link to a listed host")
            case "image" | "video" | "download":
                for url in [item["url"] for item in reference.get("variants", [reference])]:
                    check_file(path, url)
            case "unresolvable" if re.fullmatch(r"(Swift|_Concurrency|Foundation\w*|Testing)\..*", reference["title"]):
                pass
            case kind:
                failures.append(f"{path}: {kind} reference {identifier}")
    return linked


def anchors(page):
    return {node["anchor"] for node in nodes(page) if "anchor" in node}


def check_file(path, url):
    if not (site / urllib.parse.unquote(url.split("?")[0].lstrip("/"))).is_file():
        failures.append(f"{path}: there is no file {url}")


# A repeated call only checks.
if not (site / "404.html").exists():
    complete()
pages = {f"/{path.relative_to(site / 'data').with_suffix('')}": json.loads(path.read_text())
         for path in site.glob("data/**/*.json")}
links = {path: check_page(path, page) for path, page in pages.items()}

if "/documentation/martlet/gettingstarted" not in links["/documentation"]:
    failures.append("the landing page does not link to the first article")
reached, waiting = set(), ["/documentation"]
while waiting:
    path = waiting.pop()
    if path in links and path not in reached:
        reached.add(path)
        waiting += links[path]
failures += [f"no page links to {path}" for path in pages.keys() - reached]

# `.ci/api` checks that symbols are documented. DocC generates the pages with this ending.
failures += [f"{path}: the article begins without a sentence" for path, page in pages.items()
             if page["kind"] == "article" and not page.get("abstract") and not path.endswith("-implementations")]

sidebar = json.loads((site / "index/index.json").read_text())["interfaceLanguages"]
failures += [f"the sidebar links to {node['path']}, which does not exist"
             for node in nodes(sidebar) if node.get("path", "/documentation") not in pages]

for path in pages:
    check_file(path, f"{path}/index.html")
files = 0
for path in [*site.glob("**/*.html"), *site.glob("css/*.css")]:
    name = path.relative_to(site)
    for url in re.findall(r'(?:href=|src=|; url=|url\()"?([^">)]+)', path.read_text()):
        files += 1
        url = urllib.parse.urljoin(f"{base}{name}", url)
        if url.startswith(base):
            url = url.removeprefix(base)
            check_file(name, f"{url}index.html" if url.endswith("/") else url)
        else:
            failures.append(f"{name}: {url} is not below {base}")

print("\n".join(sorted(failures)) or f"{len(pages)} pages, {sum(map(len, links.values()))} links, {files} references to files")
sys.exit(1 if failures or len(pages) < 1000 else 0)
