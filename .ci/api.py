"""Lists the public API from symbol graphs, and finds symbols without documentation."""
import json
import pathlib
import sys

folder, mode = pathlib.Path(sys.argv[1]), sys.argv[2]
page = pathlib.Path("Docs/PublicAPI.txt")
lines, undocumented = [], []
for module in ("Martlet", "MartletHAR", "MartletOAuth", "MartletOutbox", "MartletSigV4", "MartletWebSocket", "MartletTesting", "MartletTestTraits"):
    lines.append(f"# {module}")
    entries = set()
    for path in sorted(folder.glob(f"{module}*.symbols.json")):
        if path.name.split(".")[0].split("@")[0] != module:
            continue
        graph = json.loads(path.read_text())
        for symbol in graph["symbols"]:
            name = ".".join(symbol["pathComponents"])
            declaration = "".join(part["spelling"] for part in symbol.get("declarationFragments", []))
            # Where its code is does not matter to a caller.
            declaration = declaration.replace("@export(implementation) ", "")
            entries.add(f"{name}  |  {' '.join(declaration.split())}")
            # A symbol that fulfills a protocol's requirement inherits the requirement's documentation.
            inherits = {"init(from:)", "encode(to:)", "hash(into:)", "description", "debugDescription", "rawValue",
                        "customMirror", "makeAsyncIterator()", "makeIterator()", "next()", "RawValue", "AsyncIterator",
                        "Element", "Failure", "Iterator", "Index", "init(rawValue:)", "startIndex", "endIndex",
                        "index(after:)", "subscript(_:)", "init(stringLiteral:)", "init(integerLiteral:)",
                        "init(dictionaryLiteral:)", "init(stringInterpolation:)"}
            if "docComment" not in symbol and symbol["pathComponents"][-1] not in inherits and "==(" not in name:
                if symbol["location"]["uri"].find("/Sources/") >= 0 if "location" in symbol else False:
                    undocumented.append(name)
    lines += sorted(entries)
text = "\n".join(lines) + "\n"
if mode == "update":
    page.write_text(text)
elif not page.exists() or page.read_text() != text:
    old = set(page.read_text().splitlines()) if page.exists() else set()
    new = set(text.splitlines())
    for line in sorted(old - new):
        print("-", line)
    for line in sorted(new - old):
        print("+", line)
    sys.exit("the public API is not what Docs/PublicAPI.txt says; run `.ci/api update` and read the difference")
if undocumented:
    sys.exit("without documentation:\n" + "\n".join(sorted(set(undocumented))))
