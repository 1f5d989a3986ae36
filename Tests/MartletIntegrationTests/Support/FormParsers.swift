import Foundation
import TestSupport
import Testing

extension TestProgram {
  static let python = TestProgram("python3")
}

/// Two third-party form parsers: those of Werkzeug and python-multipart.
enum FormParsers {
  /// A part as a parser has read it.
  struct Part: Codable, Hashable, Sendable {
    var name: String
    var filename: String?
    var type: String?
    /// The value in base 64.
    var value: Data
  }

  struct Reading: Codable, Sendable {
    var werkzeug: [Part]
    var multipart: [Part]
  }

  /// The reason the parsers cannot run here, or `nil`.
  static let problem: String? = {
    let places = ["/usr/lib/python3/dist-packages", "/usr/local/lib/python3/dist-packages"]
    let isThere = ["werkzeug", "multipart"].allSatisfy { name in
      places.contains { FileManager.default.fileExists(atPath: "\($0)/\(name)") }
    }
    return isThere ? nil : "python3-werkzeug or python3-multipart is not installed"
  }()

  /// Lets both parsers read bodies.
  ///
  /// - Parameter bodies: The content types and bytes.
  /// - Returns: The parts found in each body.
  /// - Throws: An error if a parser rejects a body.
  static func read(_ bodies: [(type: String, data: Data)]) async throws -> [Reading] {
    let folder = try TemporaryFolder()
    for (number, body) in bodies.enumerated() {
      try body.data.write(to: URL(filePath: folder.path("\(number).body")))
      try Data(body.type.utf8).write(to: URL(filePath: folder.path("\(number).type")))
    }
    let arguments = ["-c", program, folder.url.path, "\(bodies.count)"]
    let result = try await TestProgram.python.start(arguments).end()
    try #require(result.status == 0, "\(result.errors)")
    return try JSONDecoder().decode([Reading].self, from: result.output)
  }

  private static let program = """
    import base64, json, sys
    from io import BytesIO
    from multipart.multipart import MultipartParser, parse_options_header
    from werkzeug.sansio.multipart import MultipartDecoder, Preamble, Field, File, Data, Epilogue, NeedData

    def part(name, filename, kind, value):
        return {"name": name, "filename": filename, "type": kind, "value": base64.b64encode(value).decode()}

    def by_werkzeug(kind, data):
        from werkzeug.http import parse_options_header as parse
        boundary = parse(kind)[1]["boundary"].encode()
        decoder = MultipartDecoder(boundary)
        decoder.receive_data(data)
        decoder.receive_data(None)
        found, current, value, isEnded = [], None, b"", False
        while not isEnded:
            event = decoder.next_event()
            if isinstance(event, (Field, File)):
                filename = event.filename if isinstance(event, File) else None
                current, value = (event.name, filename, event.headers.get("content-type")), b""
            elif isinstance(event, Data):
                value += event.data
                if not event.more_data:
                    found.append(part(*current, value))
            elif isinstance(event, (Epilogue, NeedData)):
                isEnded = True
                assert isinstance(event, Epilogue), "no end"
        return found

    def by_multipart(kind, data):
        boundary = parse_options_header(kind)[1][b"boundary"]
        found, state = [], {}

        def begin():
            state.update(headers={}, field=b"", text=b"", value=b"")

        def add(key):
            def take(data, start, end):
                state[key] += data[start:end]
            return take

        def end_header():
            state["headers"][state["field"].lower()] = state["text"]
            state["field"], state["text"] = b"", b""

        def end_part():
            options = parse_options_header(state["headers"][b"content-disposition"])[1]
            filename, kind = options.get(b"filename"), state["headers"].get(b"content-type")
            found.append(part(
                options[b"name"].decode(), None if filename is None else filename.decode(),
                None if kind is None else kind.decode(), state["value"]))

        def end():
            state["isEnded"] = True

        parser = MultipartParser(boundary, {
            "on_part_begin": begin, "on_header_field": add("field"), "on_header_value": add("text"),
            "on_header_end": end_header, "on_part_data": add("value"), "on_part_end": end_part, "on_end": end})
        parser.write(data)
        parser.finalize()
        assert state.get("isEnded"), "no end"
        return found

    folder, count = sys.argv[1], int(sys.argv[2])
    readings = []
    for number in range(count):
        data = open(f"{folder}/{number}.body", "rb").read()
        kind = open(f"{folder}/{number}.type").read()
        readings.append({"werkzeug": by_werkzeug(kind, data), "multipart": by_multipart(kind, data)})
    print(json.dumps(readings))
    """
}

extension Trait where Self == Needs {
  /// Skips the test if Python or one of the parsers is missing, except in CI.
  static var needsFormParsers: Needs { .needs(.python, problem: FormParsers.problem) }
}
