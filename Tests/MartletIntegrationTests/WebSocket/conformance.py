#!/usr/bin/env python3
"""Conformance server for WebSocket clients: RFC 6455 and permessage-deflate (RFC 7692).

    conformance.py             serves ws:// on a free port of 127.0.0.1
    conformance.py CERT KEY    serves wss:// with this certificate and private key (PEM files)
    conformance.py --list      prints the id and title of all cases

The server prints its port on the first line and `cases N` on the second line. A client connects to /case/K for each K
from 1 to N. It echoes each text and binary message with the same type, responds to pings, and closes as RFC 6455
requires. Plain HTTP requests on the same port return facts about a case:

    GET /name/K       id and title
    GET /offer/K      {"compression": true} if the client must offer `permessage-deflate; client_max_window_bits`,
                      {"compression": false} if it must not offer any extension
    GET /verdict/K    `ok` or `FAILED: reason` of the last run; waits up to 5 s for the end of the case

Categories and ids follow the public Autobahn|Testsuite: 1 framing, 2 pings and pongs, 3 reserved bits, 4 opcodes,
5 fragmentation, 6 UTF-8, 7 close, 9 limits, 10 fragmentation by the sender, 12 and 13 compression. This file adds
further ids, its own parameters in 13, and category 14, the opening handshake. Messages in 9 and 12 are fewer or smaller.

A verdict is strict: exact messages in order, a pong for each ping, the required close code, a failure before the rest
of an invalid message is sent, no data after a Close frame, distinct masking keys, and a connection that ends in bounded
time. A response to Close repeats its code. If an RFC permits several outcomes, the title contains "may", and the case
accepts each of them. The client's message limit must be at least 16 MiB and less than 2^62 octets.

Requires Python 3.9 and wsproto (1.2 or later), which validates the client's frames.
"""

import base64
import functools
import hashlib
import json
import random
import re
import select
import socket
import ssl
import sys
import threading
import time
import zlib

from wsproto.frame_protocol import FrameProtocol, ParseFailed

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
NAMES = {CONTINUATION: "continuation", TEXT: "text", BINARY: "binary", CLOSE: "Close", PING: "ping", PONG: "pong"}
RSV1, RSV2, RSV3 = 4, 2, 1

MESSAGE_LIMIT = 20  # seconds until the client must have sent an expected message
FAILURE_LIMIT = 15  # seconds until the client must have failed the connection, or ended it after the closing handshake
VERDICT_LIMIT = 30  # seconds that GET /verdict/K waits
QUIET = 0.03  # seconds during which a valid beginning of a message must not fail

END, NOTHING = ("end", b""), ("nothing", b"")  # the events of a connection that ended, and of one that timed out

class Failure(Exception):
    """A violation by the client, as a sentence for the verdict."""

# Frames

def xor(data, key):
    """Masks or unmasks data with a key of four octets."""
    size = len(data)
    pad = (key * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "little") ^ int.from_bytes(pad, "little")).to_bytes(size, "little")

def frame(opcode, payload=b"", fin=True, rsv=0, mask=None, width=None, announced=None):
    """Serializes a frame; `width` forces the octets of the extended length, `announced` a different length."""
    size = len(payload) if announced is None else announced
    if width is None:
        width = 0 if size < 126 else 2 if size < 65536 else 8
    head = bytes([fin << 7 | rsv << 4 | opcode, (mask is not None) << 7 | {0: size, 2: 126, 8: 127}[width]])
    head += size.to_bytes(width, "big") if width else b""
    return head + payload if mask is None else head + mask + xor(payload, mask)

def message(opcode, payload, fragment=None, rsv=0):
    """Returns the frames of a message, fragmented after every `fragment` octets."""
    step = fragment or len(payload) or 1
    parts = [payload[start:start + step] for start in range(0, len(payload), step)] or [b""]
    last = len(parts) - 1
    return [frame(CONTINUATION if index else opcode, part, index == last, 0 if index else rsv)
            for index, part in enumerate(parts)]

def close_frame(code=None, reason=b""):
    return frame(CLOSE, b"" if code is None else code.to_bytes(2, "big") + reason)

def show(event):
    kind, payload = event
    if event in (END, NOTHING):
        return {END: "the end of the connection", NOTHING: "nothing in time"}[event]
    if kind == CLOSE:
        return f"Close {close_code(payload) or 'without a code'}"
    return f"{NAMES[kind]} {bytes(payload[:24])!r}{'…' if len(payload) > 24 else ''} ({len(payload)} octets)"

def close_code(payload):
    return int.from_bytes(payload[:2], "big") if payload else None

class Deflate:
    """The server's side of permessage-deflate with the parameters of the response."""

    TAIL = b"\x00\x00\xff\xff"

    def __init__(self, parameters):
        values = dict(item.strip().partition("=")[::2] for item in parameters.split(";"))
        self.fresh_output = "server_no_context_takeover" in values
        self.fresh_input = "client_no_context_takeover" in values
        self.output_bits = int(values.get("server_max_window_bits", 15))
        self.input_bits = int(values.get("client_max_window_bits", 15))
        self.compressor = self.decompressor = None

    def compress(self, data, level=6):
        if self.compressor is None or self.fresh_output:
            # zlib does not compress raw data with 8 window bits. With 9 bits, its distances are at most 250.
            self.compressor = zlib.compressobj(level, zlib.DEFLATED, -max(self.output_bits, 9))
        packed = self.compressor.compress(data) + self.compressor.flush(zlib.Z_SYNC_FLUSH)
        return packed[:-4] or b"\x00"

    def decompress(self, data):
        if self.decompressor is None or self.fresh_input or self.decompressor.eof:
            self.decompressor = zlib.decompressobj(-self.input_bits)
        # zlib checks distances against its window only between calls, so a small window needs small steps.
        step = 0 if self.input_bits == 15 else 256
        rest, parts = bytes(data) + self.TAIL, []
        try:
            while rest and not self.decompressor.eof:
                parts.append(self.decompressor.decompress(rest, step))
                rest = self.decompressor.unconsumed_tail
        except zlib.error as error:
            raise Failure(f"the client's compressed data does not fit its negotiated parameters: {error}")
        return b"".join(parts)

# Session

class Session:
    """A connection after the opening handshake: sends frames, and validates the client's frames."""

    previous_keys = []  # the first masking keys of recent connections
    lock = threading.Lock()

    def __init__(self, sock, deflate=None, oracle=True):
        self.sock = sock
        self.deflate = deflate
        # wsproto 1.2 and 1.3 lose the compression state of a message when a control frame arrives between its
        # fragments, and reject 8 window bits. So only `parse` validates compressed connections.
        self.oracle = FrameProtocol(client=False, extensions=[]) if oracle and deflate is None else None
        self.buffer = bytearray()
        self.events = []
        self.parts = None  # opcode, whether compressed, and payloads of an incomplete message
        self.keys = []
        self.refused = self.closed = self.ended = False
        self.encrypted = False  # whether reads return TLS records: close_notify, or data that cannot be judged

    def pump(self, limit):
        """Reads what has arrived; waits for the first octets."""
        buffered = isinstance(self.sock, ssl.SSLSocket) and self.sock.pending()
        if not buffered and not select.select([self.sock], [], [], max(limit, 0))[0]:
            return
        while not self.ended:
            try:
                data = self.sock.recv(1 << 18)
            except (ssl.SSLWantReadError, BlockingIOError):
                return
            except OSError:
                data = b""
            self.ended = not data
            if data and not self.encrypted:
                self.receive(data)

    def receive(self, data):
        if self.refused:
            raise Failure("the client accepted an invalid opening handshake")
        self.buffer += data
        while self.parse():
            pass
        if self.oracle:
            try:
                self.oracle.receive_bytes(data)
                for _ in self.oracle.received_frames():
                    pass
            except ParseFailed as error:
                raise Failure(f"wsproto rejects the client's frames: {error}")

    def parse(self):
        """Consumes a frame of the buffer; returns whether there was a complete frame."""
        if self.closed and self.buffer:
            raise Failure(f"the client sent {len(self.buffer)} octets after its Close frame")
        if len(self.buffer) < 2:
            return False
        first, second = self.buffer[:2]
        fin, rsv, opcode, size = bool(first >> 7), first >> 4 & 7, first & 15, second & 127
        width = {126: 2, 127: 8}.get(size, 0)
        if not second >> 7:
            raise Failure("the client sent a frame without a mask")
        if opcode not in NAMES:
            raise Failure(f"the client sent the reserved opcode {opcode}")
        if opcode >= CLOSE and (not fin or width):
            raise Failure(f"the client sent a fragmented or oversized {NAMES[opcode]} frame")
        if rsv and not (rsv == RSV1 and self.deflate and opcode in (TEXT, BINARY)):
            raise Failure(f"the client set reserved bits ({rsv}) on a {NAMES[opcode]} frame")
        if opcode < CLOSE and (opcode == CONTINUATION) != (self.parts is not None):
            raise Failure(f"the client sent a {NAMES[opcode]} frame {'inside' if self.parts else 'outside'} a message")
        if len(self.buffer) < 6 + width:
            return False
        if width:
            size = int.from_bytes(self.buffer[2:2 + width], "big")
            if size < (126 if width == 2 else 65536):
                raise Failure("the client did not send the shortest form of a length")
        start = 6 + width
        if len(self.buffer) < start + size:
            return False
        key = bytes(self.buffer[start - 4:start])
        payload = xor(self.buffer[start:start + size], key)
        del self.buffer[:start + size]
        self.keys.append(key)
        if opcode >= CLOSE:
            self.control(opcode, payload)
            return True
        if opcode != CONTINUATION:
            self.parts = opcode, rsv == RSV1, []
        kind, compressed, parts = self.parts
        parts.append(payload)
        if fin:
            whole = b"".join(parts)
            self.parts = None
            self.events.append((kind, self.deflate.decompress(whole) if compressed else whole))
        return True

    def control(self, opcode, payload):
        if opcode == PING:
            self.send([frame(PONG, payload)])
            return
        if opcode == CLOSE:
            self.closed = True
            try:
                payload[2:].decode()
            except UnicodeDecodeError:
                raise Failure("the client's close reason is not valid UTF-8")
        self.events.append((opcode, payload))

    def send(self, frames, chop=None):
        """Sends frames in one write, in one write a frame (`chop="frames"`), or in writes of `chop` octets."""
        data = b"".join(frames)
        writes = [data]
        if chop == "frames":
            writes = frames
        elif chop:
            view = memoryview(data)
            writes = [view[start:start + chop] for start in range(0, len(data), chop)]
        for index, write in enumerate(writes):
            if index and chop in (1, "frames") and len(data) < 4096:
                time.sleep(0.0001)  # Without a pause, the kernel would often merge small writes.
            rest, deadline = memoryview(write), time.monotonic() + MESSAGE_LIMIT
            while rest and not self.ended:
                try:
                    rest = rest[self.sock.send(rest):]
                except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                    if time.monotonic() > deadline:
                        raise Failure("the client stopped reading")
                    # A client can block on its own echo, so reads must continue while a write waits.
                    readable, _, _ = select.select([self.sock], [self.sock], [], 1)
                    if readable:
                        self.pump(0)
                except OSError:
                    return  # The client has ended the connection. The next expectation evaluates this.

    def next(self, limit):
        """Returns the client's next message, pong or Close frame."""
        deadline = time.monotonic() + limit
        while not self.events:
            remaining = deadline - time.monotonic()
            if self.ended or remaining <= 0:
                return END if self.ended else NOTHING
            self.pump(remaining)
        return self.events.pop(0)

    def finish(self):
        """Closes the server's direction, and waits for the end of the client's direction."""
        self.pump(0)
        try:
            if isinstance(self.sock, ssl.SSLSocket):
                self.encrypted = True
                self.sock.unwrap()  # This sends close_notify without waiting, because the socket does not block.
        except OSError:
            pass
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self.ended = True
        self.await_end("the client did not end the connection after the closing handshake")
        self.check_keys()

    def await_end(self, complaint):
        deadline = time.monotonic() + FAILURE_LIMIT
        while not self.ended:
            if time.monotonic() > deadline:
                raise Failure(f"{complaint} within {FAILURE_LIMIT} s")
            self.pump(deadline - time.monotonic())

    def check_keys(self):
        """Checks that masking keys look random: distinct, not counted up, and different for each connection."""
        keys = [int.from_bytes(key, "big") for key in self.keys]
        steps = {(second - first) % (1 << 32) for first, second in zip(keys, keys[1:])}
        if len(keys) > 1 and len(set(keys)) <= len(keys) // 2 or keys and not any(keys):
            raise Failure(f"the client used {len(set(keys))} masking keys for {len(keys)} frames")
        if len(keys) > 3 and len(steps) == 1:
            raise Failure("the client's masking keys are an arithmetic sequence")
        with Session.lock:
            if keys and keys[0] in Session.previous_keys:
                raise Failure("the client began two connections with the same masking key")
            Session.previous_keys = (Session.previous_keys + keys[:1])[-4:]

# Steps: each returns a function of the session

def send(*frames, chop=None):
    return lambda session: session.send(list(frames), chop)

def expect(*events):
    """The client sends exactly these messages and pongs, in this order."""
    def step(session):
        for wanted in events:
            received = session.next(MESSAGE_LIMIT)
            if received != wanted:
                raise Failure(f"expected {show(wanted)}, received {show(received)}")
    return step

def optional(*events):
    """The client sends a prefix of these events."""
    def step(session):
        for wanted in events:
            received = session.next(FAILURE_LIMIT)
            if received != wanted:
                session.events.insert(0, received)
                return
    return step

def quiet(session):
    """The client sends nothing for a moment, and does not fail."""
    received = session.next(QUIET)
    if received != NOTHING:
        raise Failure(f"expected nothing before the rest of the message, received {show(received)}")

def ends(*codes, reply=False, absent=False):
    """The client sends a Close frame with one of the codes (None: without a code), and the connection ends."""
    def step(session):
        received = session.next(FAILURE_LIMIT)
        wanted = " or ".join(str(code or "without a code") for code in codes)
        if received[0] != CLOSE and not (absent and received == END):
            raise Failure(f"expected Close {wanted}, received {show(received)}")
        if received[0] == CLOSE and close_code(received[1]) not in codes:
            raise Failure(f"expected Close {wanted}, received {show(received)}")
        if reply and received[0] == CLOSE:
            session.send([frame(CLOSE, received[1])])
        session.finish()
    return step

def fails(*codes):
    """The client fails the connection, by default because of a protocol error."""
    return ends(*(codes or (1002,)), reply=True)

def closes(session):
    """The server starts the closing handshake."""
    session.send([close_frame(1000)])
    ends(1000)(session)

def refuses(session):
    """The client rejects the opening handshake: it ends the connection, and does not send a frame."""
    session.refused = True
    session.await_end("the client did not end the connection after an invalid opening handshake")

def echoes(opcode, payload, fragment=None, chop=None, compress=False):
    """The client echoes one message."""
    def step(session):
        data = payload() if callable(payload) else payload
        packed = session.deflate.compress(data) if compress else data
        session.send(message(opcode, packed, fragment, RSV1 if compress else 0), chop)
        expect((opcode, data))(session)
    return step

def exchanges(opcode, messages, fragment=None, compress=False, level=6):
    """The client echoes many messages: one after the other, or pipelined if they are fragmented."""
    def step(session):
        sent = list(messages())
        for data in sent:
            packed = session.deflate.compress(data, level) if compress else data
            session.send(message(opcode, packed, fragment, RSV1 if compress else 0))
            if not fragment:
                expect((opcode, data))(session)
        if fragment:
            expect(*((opcode, data) for data in sent))(session)
    return step

def may_accept(event, *codes):
    """The client either echoes the event and closes normally, or fails."""
    def step(session):
        received = session.next(MESSAGE_LIMIT)
        if received == event:
            closes(session)
        else:
            session.events.insert(0, received)
            fails(*codes)(session)
    return step

def may_refuse(session):
    """The client echoes a message, ends the connection, or waits for the rest of the head until the server ends."""
    received = session.next(0.5)
    if received == (TEXT, HELLO):
        closes(session)
    elif received in (END, NOTHING):
        session.finish()
    else:
        raise Failure(f"expected an echo or the end of the connection, received {show(received)}")

# Data

def mixed_text(size):
    """Returns valid UTF-8 of exactly this size with code points of one to four octets."""
    unit = "Größe 7 ≈ мир 世界 🌍; ".encode()
    data = (unit * (size // len(unit) + 1))[:size]
    whole = data.decode(errors="ignore").encode()
    return whole + b"*" * (size - len(whole))

def octets(size):
    return (bytes(range(256)) * (size // 256 + 1))[:size]

def is_valid(data):
    try:
        return data.decode() is not None
    except UnicodeDecodeError:
        return False

@functools.lru_cache(None)
def pool(kind):
    """Returns 256 Ki characters or octets of test data."""
    rng, size = random.Random(kind), 1 << 18
    words = "wind river stone über harbor quiet signal ночь copper seven レモン lantern drift échelle field".split()

    def record(index):
        return json.dumps({"id": index, "name": rng.choice(words), "tags": rng.sample(words, 3), "on": index % 3 == 0,
                           "value": round(rng.random() * 1000, 3)}, ensure_ascii=False)

    def sentence(_):
        return " ".join(rng.choices(words, k=rng.randint(4, 14))).capitalize() + ". "

    def element(index):
        return f'<tr class="row-{index % 7}"><td>{index}</td><td><a href="/{rng.choice(words)}">{sentence(0)}</a></td>\n'

    if kind == "random":
        return rng.getrandbits(size * 8).to_bytes(size, "little")
    if kind == "bitmap":
        return bytes((x >> 1 ^ y) + rng.getrandbits(2) & 255 for y in range(512) for x in range(512))
    make = {"JSON": record, "prose": sentence, "HTML": element}[kind]
    parts, length = [], 0
    while length < size:
        parts.append(make(len(parts)))
        length += len(parts[-1])
    return "".join(parts)[:size]

def samples(kind, size, count):
    """Returns a function that returns `count` messages, which are consecutive ranges of the pool."""
    def make():
        data = pool(kind)
        for index in range(count):
            start = index * size % len(data)
            part = data[start:start + size]
            part += data[:size - len(part)]
            yield part.encode() if isinstance(part, str) else part
    return make

# Cases

class Case:
    """A row of the table.

    deflate: the parameters of the accepted permessage-deflate, or None
    offer:   whether the client must offer compression
    head:    changes to the response head, see `response_head`
    oracle:  False if wsproto rejects what the case permits
    """

    def __init__(self, id, title, *steps, deflate=None, offer=None, head=None, oracle=True):
        self.id, self.title, self.steps, self.deflate = id, title, steps, deflate
        self.offer = deflate is not None if offer is None else offer
        self.head, self.oracle = head or {}, oracle

def table(prefix, *rows, first=1, **options):
    """Numbers rows, which contain a title and steps."""
    return [Case(f"{prefix}.{number}", *row, **options) for number, row in enumerate(rows, first)]

def bad(title, *frames, codes=(1002,), chop=None):
    """A row in which the client fails the connection."""
    return title, send(*frames, chop=chop), fails(*codes)

def good(title, frames, *events, chop=None):
    """A row in which the client responds with these events."""
    return title, send(*frames, chop=chop), expect(*events), closes

def echo(title, opcode, payload, **options):
    return title, echoes(opcode, payload, **options), closes

def closed(title, *frames, codes=(1000,)):
    """A row in which the server's frames include Close."""
    return title, send(*frames), ends(*codes)

HELLO, BYTES, KOSME = b"Hello, world", bytes([0, 255, 254, 253, 128, 0, 127]), "κόσμε".encode()
CHOPS = [(None, "in one write"), ("frames", "in one write a frame"), (1, "in single octets")]

def framing():
    for group, opcode, make in ((1, TEXT, mixed_text), (2, BINARY, octets)):
        yield from table(f"1.{group}", *(echo(f"{NAMES[opcode]} message of {size} octets", opcode, make(size))
                                         for size in (0, 125, 126, 127, 128, 65535, 65536)),
                         echo(f"{NAMES[opcode]} message of 65536 octets in writes of 997", opcode, make(65536), chop=997))
    yield from table(
        "1.3", bad("masked text frame", frame(TEXT, HELLO, mask=b"\x12\x34\x56\x78")),
        bad("masked ping", frame(PING, mask=b"\x12\x34\x56\x78")),
        ("64-bit length with the most significant bit set", send(frame(BINARY, announced=1 << 63, width=8)), ends(1002, 1009)),
        *((f"length {size} in {width} octets; the client may fail or accept it",
           send(frame(BINARY, octets(size), width=width)), may_accept((BINARY, octets(size))))
          for width, size in ((2, 125), (8, 125), (8, 65535))),
        good("messages of all lengths from 0 to 300 in one write", [frame(BINARY, octets(size)) for size in range(301)],
             *((BINARY, octets(size)) for size in range(301))))

def pings():
    def ping(title, payload, chop=None):
        return good(f"ping {title}", [frame(PING, payload)], (PONG, payload), chop=chop)

    unsolicited, ten = frame(PONG, b"unsolicited"), [b"payload-%d" % index for index in range(10)]
    yield from table(
        "2", ping("without a payload", b""), ping("with a short text", HELLO), ping("with non-UTF-8 octets", BYTES),
        ping("with 125 octets", b"\xfe" * 125), bad("ping with 126 octets", frame(PING, b"\xfe" * 126)),
        ping("with 125 octets in single octets", b"\xfe" * 125, 1),
        good("unsolicited pong without a payload", [frame(PONG)]), good("unsolicited pong with a payload", [unsolicited]),
        good("unsolicited pong, then ping", [unsolicited, frame(PING, b"ping")], (PONG, b"ping")),
        *(good(f"ten pings {how}", [frame(PING, each) for each in ten], *((PONG, each) for each in ten), chop=chop)
          for chop, how in CHOPS[::2]),
        bad("pong with 126 octets", frame(PONG, b"\xfe" * 126)),
        ("pings and messages in turn", *(step for each in ten for step in (
            send(frame(PING, each)), expect((PONG, each)), echoes(TEXT, each))), closes))

def reserved_bits_and_opcodes():
    hello, part = frame(TEXT, HELLO), frame(TEXT, HELLO, False)

    def later(title, invalid, chop):
        """A message, then the invalid frame and a ping. If the client can read both at once, its echo is optional."""
        if chop is None:
            return (f"text, {title}, ping in one write; the echo may be missing", send(hello, invalid, frame(PING)),
                    optional((TEXT, HELLO)), fails())
        return (f"text and its echo, then {title}, ping {dict(CHOPS)[chop]}", send(hello, chop=chop), expect((TEXT, HELLO)),
                send(invalid, frame(PING), chop=chop), fails())

    yield from table(
        "3", bad("text with RSV 1", frame(TEXT, HELLO, rsv=1)),
        *(later(f"text with RSV {rsv}", frame(TEXT, HELLO, rsv=rsv), CHOPS[rsv - 2][0]) for rsv in (2, 3, 4)),
        bad("binary with RSV 5", frame(BINARY, BYTES, rsv=5)), bad("ping with RSV 6", frame(PING, HELLO, rsv=6)),
        bad("Close with RSV 7", frame(CLOSE, rsv=7)), bad("continuation with RSV 1", part, frame(CONTINUATION, HELLO, rsv=1)))
    for group, start in ((1, 3), (2, 11)):
        rows = [(f"reserved opcode {start + index}{' with a payload' * (index % 2)}", frame(start + index, HELLO * (index % 2)))
                for index in range(5)]
        yield from table(f"4.{group}", *(bad(*row) for row in rows[:2]),
                         *(later(*row, chop) for row, (chop, _) in zip(rows[2:], CHOPS)))
    yield from table("4.3", *(bad(f"reserved opcode {opcode} inside a fragmented message", part, frame(opcode))
                              for opcode in (3, 11)))

def fragmentation():
    def more(payload, fin=True):
        return frame(CONTINUATION, payload, fin)

    one, two, ping, whole = frame(TEXT, b"fragment1", False), more(b"fragment2"), frame(PING, b"ping"), (TEXT, b"fragment1fragment2")
    yield from table(
        "5", bad("fragmented ping", frame(PING, b"fragment1", False), two),
        bad("fragmented pong", frame(PONG, b"fragment1", False), two),
        *(good(f"text in two fragments {how}", [one, two], whole, chop=chop) for chop, how in CHOPS),
        *(good(f"ping between two fragments {how}", [one, ping, two], (PONG, b"ping"), whole, chop=chop) for chop, how in CHOPS),
        *(bad(f"continuation (FIN {fin}) without a start, then text, {how}", more(HELLO, fin), frame(TEXT, HELLO), chop=chop)
          for fin in (True, False) for chop, how in CHOPS),
        ("text in two fragments, continuation without a start, text; the echo may be missing",
         send(one, two, more(b"fragment3", False), frame(TEXT, b"fragment4")), optional(whole), fails()),
        *(bad(f"twice: continuation (FIN {fin}) without a start, then text in two fragments",
              *[more(b"fragment0", fin), one, two] * 2) for fin in (False, True)),
        bad("text frame instead of a continuation", one, frame(TEXT, b"fragment2")),
        *((f"five fragments and two pings, with a pong before the third fragment, {how}",
           send(one, more(b"2", False), frame(PING, b"first"), chop=chop), expect((PONG, b"first")),
           send(more(b"3", False), more(b"4", False), frame(PING, b"second"), more(b"5"), chop=chop),
           expect((PONG, b"second"), (TEXT, b"fragment12345")), closes) for chop, how in CHOPS[:2]),
        bad("binary frame inside a fragmented text message", one, frame(BINARY, b"fragment2")),
        bad("fragmented text inside a fragmented text message", one, one),
        bad("fragmented Close", frame(CLOSE, b"\x03\xe8", False)),
        good("unsolicited pong between two fragments", [one, frame(PONG, b"x"), two], whole),
        echo("1000 fragments of one octet", BINARY, octets(1000), fragment=1),
        good("201 empty fragments and a last one",
             [frame(BINARY, b"", False), *[more(b"", False)] * 200, more(BYTES)], (BINARY, BYTES)),
        good("fragmented binary, then text, then fragmented text", [*message(BINARY, BYTES, 3), frame(TEXT, HELLO), one, two],
             (BINARY, BYTES), (TEXT, HELLO), whole))

def utf8_groups():
    """Returns titles and octet sequences; the groups follow Markus Kuhn's public UTF-8 decoder stress test."""
    def hexes(text):
        return [bytes.fromhex(item) for item in text.split()]

    truncated = hexes("c0 e080 f08080 f8808080 fc80808080 df efbf f7bfbf fbbfbfbf fdbfbfbfbf")
    surrogates = hexes("eda080 edadbf edae80 edafbf edb080 edbe80 edbfbf")
    starts = [range(0xc0, 0xe0), range(0xe0, 0xf0), range(0xf0, 0xf8), range(0xf8, 0xfc), range(0xfc, 0xfe)]
    return [
        ("valid text", [b"hello%bworld" % item for item in hexes("24 c2a2 e282ac f0a4ada2")] + [KOSME]),
        ("prefix of a valid text", [KOSME[:size] for size in range(1, len(KOSME) + 1)]),
        ("first sequence of a length", hexes("00 c280 e0a080 f0908080")),
        ("first sequence of five or six octets", hexes("f888808080 fc8480808080")),
        ("last sequence of a length", hexes("7f dfbf efbfbf f48fbfbf")),
        ("last sequence beyond U+10FFFF", hexes("f7bfbfbf fbbfbfbfbf fdbfbfbfbfbf")),
        ("boundary", hexes("ed9fbf ee8080 efbfbd f48fbfbf f4908080")),
        ("unexpected continuation", hexes("80 bf 80bf 80bf80 80bf80bf 80bf80bf80 80bf80bf80bf") + [bytes(range(0x80, 0xc0))]),
        ("lone start", [b" ".join(bytes([value]) for value in values) + b" " for values in starts]),
        ("missing last continuation", truncated),
        ("concatenated incomplete sequences", [b"".join(truncated)]),
        ("impossible octet", hexes("fe ff fefeffff")),
        ("overlong ASCII", hexes("c0af e080af f08080af f8808080af fc80808080af")),
        ("largest overlong sequence", hexes("c1bf e09fbf f08fbfbf f887bfbfbf fc83bfbfbfbf")),
        ("overlong NUL", hexes("c080 e08080 f0808080 f880808080 fc8080808080")),
        ("single surrogate", surrogates),
        ("paired surrogates", [high + low for high in surrogates[:4] for low in (surrogates[4], surrogates[6])]),
        ("noncharacter", [chr(plane << 16 | low).encode() for plane in range(17) for low in (0xfffe, 0xffff)]),
        ("special", hexes("efbfb9 efbfba efbfbb efbfbc efbfbd efbfbe efbfbf")),
    ]

def utf8():
    text, empty, invalid = "Grüße, мир, 世界 🌍!".encode(), frame(TEXT, b"", False), KOSME + b"\xed\xa0\x80" + b"edited"

    def more(payload, fin=False, **options):
        return frame(CONTINUATION, payload, fin, **options)

    def fast(title, start, part, failure):
        """The client must fail after the second part, without waiting for the rest."""
        return f"fails before the end: {title}", send(start), quiet, send(part), failure(1007)

    yield from table("6.1", echo("empty text", TEXT, b""),
                     good("three empty fragments", [empty, more(b""), more(b"", True)], (TEXT, b"")),
                     good("empty, non-empty and empty fragment", [empty, more(HELLO), more(b"", True)], (TEXT, HELLO)))
    yield from table("6.2", echo("valid text", TEXT, text),
                     echo("valid text, fragmented between code points", TEXT, text, fragment=text.index("世".encode())),
                     echo("valid text in fragments of one octet", TEXT, text, fragment=1),
                     echo("valid Greek text in fragments of one octet", TEXT, KOSME, fragment=1))
    yield from table("6.3", bad("invalid text", frame(TEXT, invalid), codes=(1007,)),
                     bad("invalid text in fragments of one octet", *message(TEXT, invalid, 1), codes=(1007,)))
    splits = [(KOSME, b"\xf4\x90\x80\x80", "code point above U+10FFFF"), (KOSME + b"\xf4", b"\x90", "its first invalid octet")]
    yield from table(
        "6.4", *(fast(f"{name} in a fragment", frame(TEXT, start, False), more(part), fails) for start, part, name in splits),
        *(fast(f"{name} in a frame", frame(TEXT, start, announced=40), part, ends) for start, part, name in splits),
        fast("surrogate across a fragment and a frame", frame(TEXT, KOSME + b"\xed", False), more(b"\xa0", announced=9000), ends))
    for group, (name, sequences) in enumerate(utf8_groups(), 5):
        for index, data in enumerate(sequences, 1):
            valid = is_valid(data)
            title = f"{name}: {'valid' if valid else 'invalid'} {data.hex() if len(data) < 20 else '…'}"
            yield Case(f"6.{group}.{index}", *(echo(title, TEXT, data) if valid else bad(title, frame(TEXT, data), codes=(1007,))))
    yield from table(
        "6.24", good("text fragmented inside a code point, with a ping there",
                     [frame(TEXT, KOSME[:4], False), frame(PING), more(KOSME[4:], True)], (PONG, b""), (TEXT, KOSME)),
        bad("last fragment ends inside a code point", frame(TEXT, KOSME[:4], False), more(KOSME[4:-1], True), codes=(1007,)),
        ("invalid UTF-8 in a binary message and in a ping", echoes(BINARY, invalid), send(frame(PING, b"\xff")),
         expect((PONG, b"\xff")), closes),
        ("texts that end with a code point of four octets", echoes(TEXT, "🌍".encode()),
         echoes(TEXT, "a🌍".encode(), fragment=2), closes))

def closing():
    close, hello, big = close_frame(1000), frame(TEXT, HELLO), mixed_text(1 << 18)
    yield from table(
        "7.1", echo("message, then Close", TEXT, HELLO), closed("two Close frames", close, close_frame()),
        closed("ping after Close", close, frame(PING)), closed("text after Close", close, hello),
        closed("Close between two fragments", frame(TEXT, b"fragment1", False), close, frame(CONTINUATION, b"fragment2")),
        ("256 KiB, text, Close and ping in one write; echoes may be missing",
         send(frame(TEXT, big), hello, close, frame(PING)), optional((TEXT, big), (TEXT, HELLO)), ends(1000)),
        closed("invalid frame after Close", close, frame(3)))
    yield from table(
        "7.3", closed("Close without a payload; the client may respond with 1000", close_frame(), codes=(None, 1000)),
        bad("Close with one octet", frame(CLOSE, b"a")), closed("Close with a code", close),
        closed("Close with a reason", close_frame(1000, HELLO)),
        closed("Close with the longest reason", close_frame(1000, b"*" * 123)),
        bad("Close with a reason of 124 octets", close_frame(1000, b"*" * 124)),
        ("Close with a reason in single octets", send(close_frame(1001, "Schluß".encode()), chop=1), ends(1001)))
    yield from table("7.5", *(bad(f"close reason with invalid UTF-8: {name}", close_frame(1000, reason), codes=(1002, 1007))
                              for name, reason in (("surrogate", KOSME + b"\xed\xa0\x80"), ("incomplete", b"bye \xe4\xb8"))))
    codes = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999, 1012, 1013]
    yield from table("7.7", *(closed(f"valid close code {code}", close_frame(code), codes=(code,)) for code in codes))
    # wsproto rejects 1014, which IANA registered later.
    yield Case("7.7.16", *closed("valid close code 1014", close_frame(1014), codes=(1014,)), oracle=False)
    yield from table("7.9", *(bad(f"invalid close code {code}", close_frame(code))
                              for code in (0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 1015)))
    yield from table("7.13", *((f"undefined close code {code}; the client may close with any code or without a Close frame",
                                send(close_frame(code)), ends(1000, 1002, code, None, absent=True))
                               for code in (5000, 65535)), oracle=False)

def limits():
    mib = 1 << 20
    for offset, (opcode, make) in enumerate(((TEXT, mixed_text), (BINARY, octets))):
        def big(size, how="", make=make, opcode=opcode, **options):
            return echo(f"{NAMES[opcode]} message of {size // 1024} KiB{how}", opcode, functools.partial(make, size), **options)

        yield from table(f"9.{1 + offset}", *(big(size << 10) for size in (64, 256, 1024, 4096, 8192, 16384)))
        yield from table(f"9.{3 + offset}", *(big(mib if step < 6 else 4 * mib, f" in fragments of {64 << step}", fragment=64 << step)
                                              for step in range(0, 18, 2)))
        yield from table(f"9.{5 + offset}", *(big(mib, f" in writes of {64 << step}", chop=64 << step) for step in range(6)))
        yield from table(f"9.{7 + offset}", *((f"200 {NAMES[opcode]} messages of {size} octets",
                                               exchanges(opcode, functools.partial(lambda *all: all, *[make(size)] * 200)), closes)
                                              for size in (0, 16, 64, 256, 1024, 4096)))
        yield Case(f"9.9.{1 + offset}", f"{NAMES[opcode]} frame that announces 2^62 octets",
                   send(frame(opcode, HELLO, announced=1 << 62)), ends(1009))

def sender_fragmentation():
    text = mixed_text(65536)
    parts = message(TEXT, text, 1300)
    yield from table(
        "10.1", echo("text message of 65536 octets in fragments of 1300", TEXT, text, fragment=1300),
        echo("binary message of 65536 octets in fragments of 1300", BINARY, octets(65536), fragment=1300),
        good("text message of 65536 octets in fragments of 1300, each followed by a ping",
             [each for part in parts[:-1] for each in (part, frame(PING, b"between"))] + parts[-1:],
             *[(PONG, b"between")] * (len(parts) - 1), (TEXT, text)))

# (message size, fragment size); the numbers follow Autobahn, and the message counts are smaller.
SIZES = [(16, 0), (64, 0), (256, 0), (1024, 0), (4096, 0), (8192, 0), (16384, 0), (32768, 0), (65536, 0), (131072, 0),
         (8192, 256), (16384, 256), (32768, 256), (65536, 256), (131072, 256), (131072, 1024), (131072, 4096),
         (131072, 32768)]
NO_TAKEOVER = "server_no_context_takeover; client_no_context_takeover"
PARAMETERS = ["", "server_no_context_takeover", "client_no_context_takeover", NO_TAKEOVER, "client_max_window_bits=15",
              f"{NO_TAKEOVER}; server_max_window_bits=9; client_max_window_bits=9", "server_max_window_bits=9",
              "client_max_window_bits=9"]
PARAMETERS += [f"server_max_window_bits={bits}; client_max_window_bits={bits}" for bits in range(9, 16)]
PACKED = bytes.fromhex("f248cdc9c90700")  # "Hello" in a fixed Huffman block, RFC 7692 section 7.2.3.1
REFERENCE = bytes.fromhex("f200110000")  # the same as a reference to the previous "Hello", section 7.2.3.2
FINAL = bytes.fromhex("f348cdc9c9070000")  # the same in a block with BFINAL, section 7.2.3.4
STORED = b"\x00\x05\x00\xfa\xffHello"  # the same in a stored block, without the octet that ends a message

def compression():
    def exchange(kind, opcode, size, fragment):
        number = 100 if size <= 256 else 50 if size <= 4096 else 20
        return (f"{number} compressed {kind} messages of {size}{f' in fragments of {fragment}' if fragment else ''}",
                exchanges(opcode, samples(kind, size, number), fragment, True, 1 if size > 32768 else 6), closes)

    kinds = (("JSON", TEXT), ("bitmap", BINARY), ("prose", TEXT), ("HTML", TEXT), ("random", BINARY))
    for group, kind in enumerate(kinds, 1):
        yield from table(f"12.{group}", *(exchange(*kind, *sizes) for sizes in SIZES), deflate="")
    for group, parameters in enumerate(PARAMETERS, 1):
        rows = (exchange("JSON", TEXT, *SIZES[row]) for row in (0, 2, 4, 7, 9, 10, 12, 17))
        yield from table(f"13.{group}", *((f"{title}; {parameters or 'no parameters'}", *steps) for title, *steps in rows),
                         deflate=parameters)

def deflate_details():
    text = mixed_text(3000)
    packed = Deflate("").compress(text)

    def parts(*ends):
        """Fragments the packed text at these offsets."""
        return [frame(CONTINUATION if start else TEXT, packed[start:end], end == len(packed), 0 if start else RSV1)
                for start, end in zip((0, *ends), (*ends, len(packed)))]

    def stream(title, *pairs):
        """The client echoes messages whose compressed form is given."""
        return (title, *(step for data, plain in pairs for step in (
            send(frame(TEXT, data, rsv=RSV1)), expect((TEXT, plain)))), closes)

    yield from table(
        "12.6", ("empty compressed messages", *[echoes(TEXT, b"", compress=True)] * 3, echoes(BINARY, b"", compress=True), closes),
        ("compressed and uncompressed messages in turn", *(echoes(TEXT, mixed_text(size), compress=compress)
                                                           for size in (5, 500, 5000) for compress in (True, False)), closes),
        stream("stored block", (STORED + b"\x00", b"Hello")), stream("two blocks", (STORED + PACKED, b"HelloHello")),
        stream("reference to the previous message", (PACKED, b"Hello"), (REFERENCE, b"Hello")),
        stream("final block, then a message", (FINAL, b"Hello"), (PACKED, b"Hello")),
        good("ping and pong between compressed fragments", [
            *parts(20, 40)[:1], frame(PING, b"ping"), frame(PONG, b"x"), *parts(20, 40)[1:]], (PONG, b"ping"), (TEXT, text)),
        echo("compressed fragments of one octet", TEXT, text, fragment=1, compress=True),
        good("empty fragments in a compressed message", [
            frame(TEXT, b"", False, RSV1), frame(CONTINUATION, packed, False), frame(CONTINUATION)], (TEXT, text)),
        echo("16 MiB that compress to 16 KiB", BINARY, functools.partial(bytes, 1 << 24), compress=True),
        echo("compressed message in single octets", TEXT, text, chop=1, compress=True),
        closed("Close between compressed fragments", *parts(20, 40)[:2], close_frame(1000), parts(20, 40)[2]), deflate="")
    yield Case("12.6.13", *stream("final block, then a message without context takeover", (FINAL, b"Hello"), (PACKED, b"Hello")),
               deflate="server_no_context_takeover")
    for index, parameters in enumerate(("server_max_window_bits=8", "client_max_window_bits=8"), 14):
        yield Case(f"12.6.{index}", parameters, exchanges(TEXT, samples("JSON", 700, 20), compress=True), closes, deflate=parameters)

def invalid_compression():
    def corrupt(title, data, *codes, opcode=TEXT):
        return bad(title, frame(opcode, data, rsv=RSV1), codes=codes or (1002, 1007))

    start, rest = frame(TEXT, PACKED[:3], False, RSV1), PACKED[3:]
    yield Case("13.20.1", *bad("RSV1 without negotiation", frame(TEXT, PACKED, rsv=RSV1)))
    yield Case("13.20.2", *bad("RSV1 after the server declined compression", frame(TEXT, PACKED, rsv=RSV1)), offer=True)
    yield from table(
        "13.20", bad("RSV1 on a continuation", start, frame(CONTINUATION, rest, rsv=RSV1)),
        bad("RSV1 on a continuation of an uncompressed message", frame(TEXT, HELLO, False), frame(CONTINUATION, HELLO, rsv=RSV1)),
        bad("RSV1 on a ping", frame(PING, b"ping", rsv=RSV1)), bad("RSV1 on Close", frame(CLOSE, b"\x03\xe8", rsv=RSV1)),
        bad("RSV1 and RSV2", frame(TEXT, PACKED, rsv=RSV1 | RSV2)), bad("RSV3", frame(TEXT, PACKED, rsv=RSV3)),
        corrupt("reserved block type", b"\x07\x00\x00"), corrupt("wrong length check", b"\x00\x05\x00\x00\x00Hello\x00"),
        corrupt("distance before the start of the data", REFERENCE), corrupt("invalid Huffman code", b"\xff" * 20 + b"\x00"),
        bad("corrupt second fragment", frame(TEXT, STORED, False, RSV1), frame(CONTINUATION, b"\x07"), codes=(1002, 1007)),
        corrupt("message truncated inside a Huffman block", truncated_block()),
        corrupt("message truncated inside a stored block", b"\x00\x32\x00\xcd\xffHello", opcode=BINARY),
        corrupt("compressed text with invalid UTF-8", Deflate("").compress(b"ok \xed\xa0\x80"), 1007),
        bad("compressed text that ends inside a code point",
            *message(TEXT, Deflate("").compress(KOSME[:-1]), 4, RSV1), codes=(1007,)),
        ("empty frame with RSV1; the client may fail or accept it", send(frame(TEXT, rsv=RSV1)),
         may_accept((TEXT, b""), 1002, 1007)), first=3, deflate="")

def truncated_block():
    """Returns a prefix of a compressed message that zlib rejects because of the tail."""
    packed = Deflate("").compress(pool("JSON")[:600].encode())
    for size in range(len(packed) // 2, len(packed)):
        try:
            zlib.decompressobj(-15).decompress(packed[:size] + Deflate.TAIL)
        except zlib.error:
            return packed[:size]
    raise AssertionError("zlib accepts all prefixes")

def handshake():
    bait = frame(TEXT, HELLO)  # A client that accepts an invalid head echoes this message.
    accept, wrong = "Sec-WebSocket-Accept: ", "Sec-WebSocket-Accept: " + base64.b64encode(bytes(20)).decode()

    def refused(title, offer=False, **head):
        return title, (refuses,), offer, {"after": bait, **head}

    def accepted(title, offer=False, **head):
        return title, (echoes(TEXT, HELLO), closes), offer, head

    def status(line, *fields):
        return refused(f"status {line}", status=f"HTTP/1.1 {line}", upgrade="", connection="Connection: close", accept="",
                       extra="\r\n".join(("Content-Length: 5", *fields)), after=b"Sorry")

    def extension(value):
        return refused(f"extension response: {value}", offer=True, extra=f"Sec-WebSocket-Extensions: {value}")

    deflate = "permessage-deflate"
    rows = [
        refused("wrong Sec-WebSocket-Accept", accept=wrong), refused("missing Sec-WebSocket-Accept", accept=""),
        refused("Sec-WebSocket-Accept repeats the key", accept=accept + "{key}"),
        refused("empty Sec-WebSocket-Accept", accept=accept),
        refused("right and wrong Sec-WebSocket-Accept", accept=accept + "{accept}\r\n" + wrong),
        refused("Sec-WebSocket-Accept in lower case", accept=accept + "{lower}"),
        refused("missing Upgrade", upgrade=""), refused("wrong Upgrade", upgrade="Upgrade: h2c"),
        refused("missing Connection", connection=""),
        refused("Connection: keep-alive", connection="Connection: keep-alive"),
        status("200 OK"), status("400 Bad Request"), status("426 Upgrade Required", "Sec-WebSocket-Version: 13"),
        status("503 Service Unavailable", "Retry-After: 1"),
        refused("status 200 with all fields of a valid 101", status="HTTP/1.1 200 OK", connection="Connection: Upgrade, close",
                extra=f"Content-Length: {len(bait)}"),
        refused("subprotocol that was not offered", extra="Sec-WebSocket-Protocol: chat"),
        refused("two subprotocols", extra="Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Protocol: superchat"),
        refused("extension that was not offered", extra="Sec-WebSocket-Extensions: x-unknown"),
        refused("permessage-deflate that was not offered", extra=f"Sec-WebSocket-Extensions: {deflate}"),
        refused("101 with Content-Length", extra="Content-Length: 14"),
        refused("end inside the head", raw=b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: webso", after=b"", end=True),
        refused("response that is not HTTP", raw=b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
        extension(f"{deflate}, {deflate}"), extension(f"{deflate}, x-unknown"), *(extension(f"{deflate}; {value}") for value in (
            "server_max_window_bits=7", "server_max_window_bits=16", "server_max_window_bits=08", "server_max_window_bits",
            "server_max_window_bits=ten", "client_max_window_bits=7", "client_max_window_bits=16", "client_max_window_bits",
            "server_no_context_takeover=1", "unknown_parameter", "server_no_context_takeover; server_no_context_takeover",
            "server_max_window_bits=10; server_max_window_bits=12")),
        accepted("Connection: keep-alive, Upgrade", connection="Connection: keep-alive, Upgrade"),
        accepted("two Connection fields", connection="Connection: keep-alive\r\nConnection: upgrade"),
        accepted("names and tokens in unusual case", upgrade="uPGRADE: WebSocket", connection="CONNECTION: uPGRADE"),
        accepted("optional whitespace around values", accept=accept + "\t {accept} \t ", upgrade="Upgrade:websocket"),
        accepted("empty reason phrase", status="HTTP/1.1 101 "),
        accepted("unrelated fields, 8 KiB", extra="Server: x\r\nSet-Cookie: a=b\r\nX-Padding: " + "x" * 8000),
        accepted("head in single octets", chop=1), accepted("compression declined", offer=True),
        ("frame in the same segment as the head", (expect((TEXT, HELLO)), closes), False, {"after": bait}),
        ("half a frame in the same segment as the head", (send(bait[5:]), expect((TEXT, HELLO)), closes), False, {"after": bait[:5]}),
        ("head, message and Close in a segment; the echo may be missing", (optional((TEXT, HELLO)), ends(1000)), False,
         {"after": bait + close_frame(1000)}),
        ("lines that end in LF; the client may refuse or accept them", (may_refuse,), False, {"after": bait, "newline": "\n"}),
        ("103 Early Hints before 101; the client may refuse or accept it", (may_refuse,), False,
         {"after": bait, "before": b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"}),
    ]
    for index, (title, steps, offer, head) in enumerate(rows, 1):
        yield Case(f"14.1.{index}", title, *steps, offer=offer, head=head)
    for index, parameters in enumerate(('server_max_window_bits="10"', "server_max_window_bits=15 ;client_max_window_bits=15"), 1):
        yield Case(f"14.2.{index}", f"valid extension response: {deflate}; {parameters}",
                   exchanges(TEXT, samples("JSON", 2000, 20), compress=True), closes, deflate=parameters.replace('"', ""),
                   head={"deflate": parameters})

CASES = [case for make in (framing, pings, reserved_bits_and_opcodes, fragmentation, utf8, closing, limits,
                           sender_fragmentation, compression, deflate_details, invalid_compression, handshake) for case in make()]

# Server

def response_head(case, key):
    """Returns the response head; the case can replace lines, `newline`, or everything (`raw`)."""
    digest = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
    head = {"status": "HTTP/1.1 101 Switching Protocols", "upgrade": "Upgrade: websocket",
            "connection": "Connection: Upgrade", "accept": "Sec-WebSocket-Accept: {accept}", "extra": "", **case.head}
    if "raw" in head:
        return head["raw"]
    lines = [head[name] for name in ("status", "upgrade", "connection", "accept", "extra") if head[name]]
    if case.deflate is not None:
        parameters = head.get("deflate", case.deflate)
        lines.append("Sec-WebSocket-Extensions: permessage-deflate" + (f"; {parameters}" if parameters else ""))
    text = "\r\n".join(lines) + "\r\n\r\n"
    for name, value in (("{accept}", digest), ("{key}", key), ("{lower}", digest.lower())):
        text = text.replace(name, value)
    return head.get("before", b"") + text.replace("\r\n", head.get("newline", "\r\n")).encode()

class Request:
    """A parsed request head."""

    seen_keys = set()
    lock = threading.Lock()

    def __init__(self, head):
        self.line, *fields = head.decode("latin-1").split("\r\n")
        self.fields = {}
        for field in fields:
            name, _, value = field.partition(":")
            self.fields.setdefault(name.lower(), []).append(value.strip())

    def tokens(self, name):
        return [token.strip().lower() for value in self.fields.get(name, []) for token in value.split(",")]

    def check(self, case, port):
        """Checks the client's opening handshake and returns its key."""
        host, version, keys = (self.fields.get(name, []) for name in ("host", "sec-websocket-version", "sec-websocket-key"))
        offers = [offer.replace(" ", "").split(";") for offer in self.tokens("sec-websocket-extensions")]
        try:
            length = len(base64.b64decode("".join(keys), validate=True))
        except ValueError:
            length = 0
        with Request.lock:
            known = not Request.seen_keys.isdisjoint(keys)
            Request.seen_keys.update(keys)
        rules = [
            (re.fullmatch(r"GET /case/[0-9]+ HTTP/1\.1", self.line), f"the request line is {self.line!r}"),
            (host in ([f"127.0.0.1:{port}"], [f"localhost:{port}"]), f"the Host fields are {host}"),
            ("websocket" in self.tokens("upgrade"), "the Upgrade field does not contain websocket"),
            ("upgrade" in self.tokens("connection"), "the Connection field does not contain Upgrade"),
            (version == ["13"], f"the versions are {version}, not 13"),
            (len(keys) == 1 and length == 16, f"the keys {keys} are not one key of 16 octets"),
            (not known, f"the key {keys} was used before"),
            ("sec-websocket-protocol" not in self.fields, "the client offered a subprotocol"),
            (case.offer or not offers, "the client offered an extension, but the case excludes extensions"),
            (not case.offer or any(offer[0] == "permessage-deflate" and "client_max_window_bits" in offer for offer in offers),
             "the client did not offer permessage-deflate; client_max_window_bits"),
        ]
        for holds, complaint in rules:
            if not holds:
                raise Failure(complaint)
        return keys[0]

class Server:
    def __init__(self, context):
        self.context = context
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.verdicts = [None] * len(CASES)
        self.condition = threading.Condition()

    def serve(self):
        while True:
            sock, _ = self.listener.accept()
            threading.Thread(target=self.handle, args=(sock,), daemon=True).start()

    def handle(self, sock):
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(VERDICT_LIMIT)
            if self.context:
                sock = self.context.wrap_socket(sock, server_side=True, suppress_ragged_eofs=False)
            head = b""
            while b"\r\n\r\n" not in head:
                data = sock.recv(65536)
                if not data:
                    return
                head += data
            head, _, rest = head.partition(b"\r\n\r\n")
            request = Request(head)
            kind, _, number = request.line.split(" ")[1].lstrip("/").partition("/")
            index = int(number) - 1 if number.isdigit() else -1
            if not 0 <= index < len(CASES):
                self.respond(sock, "404 Not Found", f"cases are numbered from 1 to {len(CASES)}")
            elif kind == "case":
                self.judge(sock, index, request, rest)
            elif kind == "name":
                self.respond(sock, "200 OK", f"{CASES[index].id} {CASES[index].title}")
            elif kind == "offer":
                self.respond(sock, "200 OK", json.dumps({"compression": CASES[index].offer}), "application/json")
            elif kind == "verdict":
                with self.condition:
                    self.condition.wait_for(lambda: self.verdicts[index] is not None, VERDICT_LIMIT)
                    verdict = self.verdicts[index]
                self.respond(sock, "200 OK", verdict or "FAILED: the case did not start, or is still running")
            else:
                self.respond(sock, "404 Not Found", "paths are /case/K, /name/K, /offer/K and /verdict/K")
        except OSError:
            pass  # The client ended the connection, or its TLS handshake failed. There is no case to judge.
        finally:
            sock.close()

    def respond(self, sock, status, text, type="text/plain; charset=utf-8"):
        body = text.encode()
        sock.sendall(f"HTTP/1.1 {status}\r\nContent-Type: {type}\r\nContent-Length: {len(body)}\r\n"
                     f"Connection: close\r\n\r\n".encode() + body)

    def judge(self, sock, index, request, rest):
        """Runs a case and stores its verdict."""
        with self.condition:
            self.verdicts[index] = None
        try:
            self.run(sock, CASES[index], request, rest)
            verdict = "ok"
        except Failure as failure:
            verdict = f"FAILED: {failure}"
        except Exception as error:  # An unexpected error must become a verdict, because the client waits for one.
            verdict = f"FAILED: error in the conformance server: {error!r}"
        with self.condition:
            self.verdicts[index] = verdict
            self.condition.notify_all()

    def run(self, sock, case, request, rest):
        key = request.check(case, self.port)
        if rest:
            raise Failure("the client sent data before the response")
        sock.setblocking(False)
        session = Session(sock, None if case.deflate is None else Deflate(case.deflate), case.oracle)
        session.send([response_head(case, key) + case.head.get("after", b"")], case.head.get("chop"))
        if case.head.get("end"):
            session.finish()
        for step in case.steps:
            step(session)

def main(arguments):
    if arguments == ["--list"]:
        for case in CASES:
            print(case.id, case.title)
        return
    if len(arguments) not in (0, 2):
        sys.exit(__doc__)
    context = None
    if arguments:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*arguments)
        context.set_alpn_protocols(["http/1.1"])
    server = Server(context)
    print(server.port)
    print("cases", len(CASES), flush=True)
    server.serve()

if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        pass
