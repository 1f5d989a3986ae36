/// What `--help` prints.
enum Help {
  static let text = """
    martlet: sends an HTTP request and shows the response

    Usage:  martlet [METHOD] URL [ITEM...] [OPTION...]
            martlet demo            a tour of the library; needs no network

    METHOD  GET, or POST if something is sent. ':8080/x' is http://localhost:8080/x. Without a scheme,
            localhost and 127.* get http://, everything else https://.

    ITEM    name==text    a query item              Header:text   a header field
            name=text     a field of a JSON object  Header;       a header field without a value
            name:=json    the same, any JSON        a\\:b=text     '\\' takes the meaning of : = ; in a name

        --body TEXT | @FILE   send this, not items      -f, --form            send items as a form, not JSON
        --timeout SECONDS     limit for everything      --retry N             repeat up to N times if worthwhile
        --no-follow           do not follow redirects       (POST and PATCH only with Idempotency-Key)
    -i, --include             show status and headers also in a pipe
    -v, --verbose             show every request and response head on standard error
    -o, --output FILE         write the body to a file; a 4xx or 5xx body is printed instead
    -h, --help   --version

    On a terminal: status, headers and body, JSON indented. In a pipe: the bytes of the body.
    Colours obey NO_COLOR and TERM=dumb.

    Examples:
        martlet api.example.com/users page==2 Accept:application/json
        martlet PUT :8080/users/7 name=Ada admin:=true tags:='["x","y"]'
        martlet POST example.com/upload --body @report.json --timeout 30 --retry 3 -v

    Exit codes: 0 status 2xx or 3xx; 4 status 4xx; 5 status 5xx; 2 wrong usage, nothing was sent; 3 no usable
        response (refused, name unknown, lost, TLS, other status); 6 timeout; 1 output or demo failed; 130 interrupted

    """
}
