"""Third-party implementations of AWS Signature Version 4.

    aws.py serve         moto's S3 and STS on a free port of 127.0.0.1. It verifies signatures in Authorization fields,
                         but neither those in presigned URLs, nor dates, nor the body's digest
    aws.py link SECRET   a server on a free port that verifies presigned URLs of S3 as they arrive, with botocore. It
                         responds 200 or 403
    aws.py sign REQUESTS prints the signatures that botocore computes, one on a line

`serve` prints a line of JSON: the port, a user's access key, and its secret. `link` prints its port. `sign` reads a JSON
array.
"""

import datetime
import http.server
import json
import os
import sys
import time
import urllib.parse
from unittest import mock

DAY = datetime.datetime(2013, 5, 24, tzinfo=datetime.timezone.utc)


def serve():
    # A bucket, a user, its key and its policy, a role and its policy; the signatures of later requests are checked.
    os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "6"
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    port = server.get_host_and_port()[1]
    common = dict(
        endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1", aws_access_key_id="setup",
        aws_secret_access_key="setup")
    policy = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]})
    trust = json.dumps({
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}]})
    boto3.client("s3", **common).create_bucket(Bucket="bucket")
    iam = boto3.client("iam", **common)
    iam.create_user(UserName="ada")
    key = iam.create_access_key(UserName="ada")["AccessKey"]
    iam.put_user_policy(UserName="ada", PolicyName="all", PolicyDocument=policy)
    iam.create_role(RoleName="reader", AssumeRolePolicyDocument=trust)
    iam.put_role_policy(RoleName="reader", PolicyName="all", PolicyDocument=policy)
    print(json.dumps({"port": port, "key": key["AccessKeyId"], "secret": key["SecretAccessKey"]}), flush=True)
    while True:
        time.sleep(60)


def link(secret):
    from botocore import auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            url, _, signature = f"http://{self.headers['Host']}{self.path}".partition("&X-Amz-Signature=")
            given = dict(urllib.parse.parse_qsl(url.partition("?")[2]))
            key, _, region, _, _ = given["X-Amz-Credential"].split("/")
            signer = auth.S3SigV4QueryAuth(Credentials(key, secret), "s3", region)
            request = AWSRequest(method="GET", url=url)
            request.context["timestamp"] = given["X-Amz-Date"]
            text = signer.string_to_sign(request, signer.canonical_request(request))
            is_right = signer.signature(text, request) == signature
            self.send_response(200 if is_right else 403)
            self.send_header("Content-Length", "0")
            self.end_headers()

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


def sign(requests):
    from botocore import auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    for item in requests:
        request = AWSRequest(method=item["method"], url=item["url"], headers=item["headers"], data=item["body"].encode())
        keys = Credentials("KEY", "SECRET", item.get("token"))
        is_storage, seconds = item["service"] == "s3", item.get("seconds")
        if seconds:
            kind = auth.S3SigV4QueryAuth if is_storage else auth.SigV4QueryAuth
            signer = kind(keys, item["service"], "eu-north-1", expires=seconds)
        else:
            kind = auth.S3SigV4Auth if is_storage else auth.SigV4Auth
            signer = kind(keys, item["service"], "eu-north-1")
        if hasattr(auth, "get_current_datetime"):
            clock = mock.patch("botocore.auth.get_current_datetime", return_value=DAY)
        else:
            # botocore before 1.38
            days = mock.Mock(wraps=datetime.datetime, utcnow=lambda: DAY)
            clock = mock.patch("botocore.auth.datetime.datetime", days)
        with clock:
            signer.add_auth(request)
        text = request.url if seconds else request.headers["Authorization"]
        print(text.split("Signature=")[-1])


if sys.argv[1] == "serve":
    serve()
elif sys.argv[1] == "link":
    link(sys.argv[2])
else:
    sign(json.loads(sys.argv[2]))
