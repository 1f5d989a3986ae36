#!/usr/bin/env python3
"""Authorization server and API on authlib, for OAuth clients.

The server prints its port on the first line. It serves:

    POST /token               all grants; client authentication by authlib
    POST /device              device codes (RFC 8628)
    GET /authorize            redirects with a code, as for a user who agrees; with `refuse`, for one who does not
    GET /api                  `in`, for a valid Bearer or DPoP token
    POST /keys/CLIENT         registers a JSON Web Key for `private_key_jwt`
    POST /approve/USER-CODE   confirms a device code
    POST /expire              makes all access tokens invalid
    POST /lose                processes the next token request, but does not respond to it
    GET /facts                counters, as JSON

Clients: `basic` and `post` have the secret `s3cret-1`, `keyed` has a key, and `public` has none. Refresh tokens are
replaced, and the use of a replaced one revokes its successors. A client whose request has a DPoP proof gets a bound
token. Proofs are verified by authlib.jose, and need a nonce.

Requires Python 3.9 and authlib 1.2 (Debian: python3-authlib).
"""

import base64
import hashlib
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

from authlib.common.security import generate_token
from authlib.jose import JsonWebKey, JsonWebSignature
from authlib.oauth2.rfc6749 import AuthorizationServer, OAuth2Error, OAuth2Request, grants
from authlib.oauth2.rfc6750.token import BearerTokenGenerator
from authlib.oauth2.rfc7523 import JWTBearerClientAssertion
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8628 import DeviceAuthorizationEndpoint, DeviceCodeGrant, DeviceCredentialDict

LOCK = threading.RLock()
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
FACTS = {"tokens": 0, "refreshes": 0, "reuses": 0, "proofs": 0, "nonces": 0, "slow_downs": 0}
METHODS = ["client_secret_basic", "client_secret_post", "none", "private_key_jwt"]


class Client:
    def __init__(self, name, method, grant_types, secret=None):
        self.name, self.method, self.grant_types, self.secret = name, method, grant_types, secret
        self.key = None

    def get_client_id(self): return self.name
    def get_default_redirect_uri(self): return None
    def get_allowed_scope(self, scope): return scope
    def check_redirect_uri(self, uri): return uri in ("http://127.0.0.1:8400/in", "com.example.app:/in")
    def check_client_secret(self, secret): return secret == self.secret
    def check_endpoint_auth_method(self, method, endpoint): return method == self.method
    def check_response_type(self, response_type): return response_type == "code"
    def check_grant_type(self, grant_type): return grant_type in self.grant_types


class Code:
    def __init__(self, code, request):
        self.code, self.client_id, self.redirect_uri = code, request.client.name, request.redirect_uri
        self.scope = request.scope
        self.code_challenge = request.data.get("code_challenge")
        self.code_challenge_method = request.data.get("code_challenge_method")

    def get_redirect_uri(self): return self.redirect_uri
    def get_scope(self): return self.scope


class Token:
    def __init__(self, token, request, family):
        self.__dict__.update(access=token["access_token"], refresh=token.get("refresh_token"), scope=token.get("scope"),
                             client=request.client.name, jkt=request.jkt, family=family, replaced=False, valid=True)

    def check_client(self, client): return client.name == self.client
    def get_scope(self): return self.scope
    def get_expires_in(self): return 3600


USER_GRANTS = ["authorization_code", "refresh_token", DEVICE_GRANT]
CLIENTS = {client.name: client for client in (
    Client("basic", "client_secret_basic", ["client_credentials"], "s3cret-1"),
    Client("post", "client_secret_post", ["client_credentials"], "s3cret-1"),
    Client("keyed", "private_key_jwt", ["client_credentials"]),
    Client("public", "none", USER_GRANTS))}
CODES, TOKENS, DEVICES, APPROVED, USED_IDS = {}, [], {}, set(), set()


class Server(AuthorizationServer):
    def query_client(self, client_id): return CLIENTS.get(client_id)

    def save_token(self, token, request):
        family = getattr(request.credential, "family", None) or generate_token(8)
        TOKENS.append(Token(token, request, family))
        if request.jkt:
            token["token_type"] = "DPoP"
        FACTS["tokens"] += 1

    def send_signal(self, name, *args, **kwargs): pass
    def create_oauth2_request(self, request): return request
    def handle_response(self, status, body, headers): return status, body, headers


class Assertion(JWTBearerClientAssertion):
    CLIENT_AUTH_METHOD = "private_key_jwt"

    def validate_jti(self, claims, jti):
        is_new = jti not in USED_IDS
        USED_IDS.add(jti)
        return is_new

    def resolve_client_public_key(self, client, headers):
        if headers.get("kid") != client.key.as_dict().get("kid"):
            raise ValueError("wrong kid")
        return client.key


class ClientCredentials(grants.ClientCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS


class AuthorizationCode(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    def save_authorization_code(self, code, request): CODES[code] = Code(code, request)

    def query_authorization_code(self, code, client):
        found = CODES.get(code)
        return found if found and found.client_id == client.name else None

    def delete_authorization_code(self, code): CODES.pop(code.code, None)
    def authenticate_user(self, code): return "ada"


class Refresh(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, text):
        FACTS["refreshes"] += 1
        token = next((token for token in TOKENS if token.refresh == text), None)
        if token and token.jkt != self.request.jkt:
            return None
        if token and token.replaced:
            FACTS["reuses"] += 1
            for other in TOKENS:
                if other.family == token.family:
                    other.valid, other.replaced = False, True
            return None
        return token

    def authenticate_user(self, token): return "ada"
    def revoke_old_credential(self, token): token.valid, token.replaced = False, True


class Device(DeviceAuthorizationEndpoint):
    CLIENT_AUTH_METHODS = METHODS
    INTERVAL = 1

    def get_verification_uri(self): return "https://id.example.com/device"

    def save_device_credential(self, client_id, scope, data):
        DEVICES[data["device_code"]] = DeviceCredentialDict(
            data, client_id=client_id, scope=scope or "", expires_at=time.time() + data["expires_in"], polls=0)


class DeviceToken(DeviceCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    def query_device_credential(self, code): return DEVICES.get(code)
    def query_user_grant(self, code): return ("ada", True) if code in APPROVED else None

    def should_slow_down(self, credential):
        credential["polls"] += 1
        FACTS["polls"] = credential["polls"]
        return False


server = Server()
generator = BearerTokenGenerator(lambda **_: generate_token(32), lambda **_: generate_token(32))
server.register_token_generator("default", generator)
server.register_grant(ClientCredentials)
server.register_grant(AuthorizationCode, [CodeChallenge(required=True)])
server.register_grant(Refresh)
server.register_grant(DeviceToken)
server.register_endpoint(Device)


class Unproven(Exception):
    """A proof that is missing something, as an error code."""


def proof(handler, nonce, token=None):
    """Verifies the DPoP proof of a request (RFC 9449 §4.3), and returns the thumbprint of its key."""
    texts = handler.headers.get_all("DPoP") or []
    if not texts:
        return None
    if len(texts) != 1:
        raise Unproven("invalid_dpop_proof")
    try:
        header = json.loads(base64.urlsafe_b64decode(texts[0].split(".")[0] + "=="))
        key = JsonWebKey.import_key(header["jwk"])
        claims = json.loads(JsonWebSignature(["ES256", "RS256", "EdDSA"]).deserialize_compact(texts[0], key).payload)
    except Exception as error:
        raise Unproven("invalid_dpop_proof") from error
    place = f"http://{handler.headers['Host']}{urlsplit(handler.path).path}"
    rules = [
        header["typ"] == "dpop+jwt", "d" not in header["jwk"], claims["htm"] == handler.command, claims["htu"] == place,
        abs(time.time() - claims["iat"]) < 300, claims["jti"] not in USED_IDS,
        token is None or claims.get("ath") ==
        base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).decode().rstrip("="),
    ]
    if not all(rules):
        raise Unproven("invalid_dpop_proof")
    USED_IDS.add(claims["jti"])
    if claims.get("nonce") != nonce:
        FACTS["nonces"] += 1
        raise Unproven("use_dpop_nonce")
    FACTS["proofs"] += 1
    return key.thumbprint()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    must_lose = False

    def log_message(self, *_): pass

    def respond(self, status, body, headers=()):
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def parsed(self, body):
        base = f"http://{self.headers['Host']}"
        form = dict(parse_qsl(body, keep_blank_values=True)) if body else None
        request = OAuth2Request(self.command, base + self.path, form, self.headers)
        request.jkt = None
        return request

    def do_GET(self):
        with LOCK:
            path, query = urlsplit(self.path).path, urlsplit(self.path).query
            if path == "/facts":
                self.respond(200, FACTS)
            elif path == "/authorize":
                user = None if "refuse" in query else "ada"
                status, body, headers = server.create_authorization_response(self.parsed(None), user)
                # RFC 9207.
                issuer = f"&iss=http%3A%2F%2F{self.headers['Host'].replace(':', '%3A')}"
                self.respond(status, body or "", [
                    (name, value + issuer if name == "Location" else value) for name, value in headers])
            elif path == "/api":
                self.api()
            else:
                self.respond(404, "?")

    def api(self):
        scheme, _, text = (self.headers["Authorization"] or "").partition(" ")
        token = next((token for token in TOKENS if token.access == text and token.valid), None)
        try:
            is_in = token and (
                scheme == "DPoP" and token.jkt and proof(self, "api-nonce", text) == token.jkt
                or scheme == "Bearer" and not token.jkt)
        except Unproven as error:
            fields = [("WWW-Authenticate", f'DPoP error="{error}", algs="ES256"'), ("DPoP-Nonce", "api-nonce")]
            self.respond(401, "?", fields)
            return
        if is_in:
            self.respond(200, "in")
        else:
            scheme = "DPoP" if scheme == "DPoP" else "Bearer"
            self.respond(401, "?", [("WWW-Authenticate", f'{scheme} error="invalid_token"')])

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
        with LOCK:
            _, command, *names = urlsplit(self.path).path.split("/")
            if command == "token":
                self.token(body)
            elif command == "device":
                self.respond(*server.create_endpoint_response(Device.ENDPOINT_NAME, self.parsed(body)))
            else:
                if command == "keys":
                    CLIENTS[names[0]].key = JsonWebKey.import_key(json.loads(body))
                elif command == "approve":
                    APPROVED.add(names[0])
                elif command == "expire":
                    for token in TOKENS:
                        token.valid = False
                elif command == "lose":
                    Handler.must_lose = True
                self.respond(200, "")

    def token(self, body):
        request = self.parsed(body)
        try:
            request.jkt = proof(self, "token-nonce")
        except Unproven as error:
            nonce = [("DPoP-Nonce", "token-nonce")] if str(error) == "use_dpop_nonce" else []
            self.respond(400, {"error": str(error)}, nonce)
            return
        try:
            status, body, headers = server.create_token_response(request)
        except OAuth2Error as error:
            status, body, headers = error()
        if Handler.must_lose:
            Handler.must_lose = False
            self.close_connection = True
            return
        self.respond(status, body, headers)


if __name__ == "__main__":
    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.register_client_auth_method(
        "private_key_jwt", Assertion(f"http://127.0.0.1:{listener.server_port}/token"))
    print(listener.server_port, flush=True)
    listener.serve_forever()
