/// The output of `--help`.
enum Help {
  static let text = #"""
    martlet: sends an HTTP request and shows the response

    Usage:  martlet [METHOD] URL [ITEM...] [OPTION...]
            martlet demo | doctor  a tour without a network; what loads here
            martlet cache ls DIR | rm DIR URL...|--all | stat DIR
            martlet download URL... [-o FILE|DIR] [--segments N] [--sha256 DIGITS]
            martlet upload FILE URL [--field NAME] [--gzip] | load URL [--adaptive]
            martlet sse URL | har show FILE [--explain] | har page FILE -o PAGE

    METHOD is GET, or POST if something is sent. ':8080/x' is on localhost; without
    a scheme localhost and 127.* get http://, all other hosts https://.

    ITEM    name==text   query item                Header:text  header field
            name=text    field of a JSON object    Header;      empty header field
            name:=json   the same with any JSON    name@file    file of a form
            name=@file, name:=@file  its value is in a file;  '\' escapes : = ; @

        --body TEXT|@FILE|-  send this instead of items; - is standard input
        --ignore-stdin       else a redirected one is the body, but of GET and HEAD
    -f, --form               send a form instead of JSON; --multipart: one of parts
    curl's -X -H -d -F -I -A -e -m -x and --json mean what they mean there.
        --timeout SECONDS    limit for everything together, such as 0.5
        --retry N            up to N times (not POST);  --no-follow: no redirects
    -u, --user NAME[:PASS]   answer with this password, or ask for one and keep it
        --credentials FILE   here; --basic: send it at once; --digest: no other way
        --bearer TOKEN|@FILE send this token
    -b, --cookie NAME=VALUE  send this cookie; --no-cookies: send and keep none
    -b, --cookies-txt FILE   read a cookies.txt; -c, --save-cookies FILE: write one
        --cookie-jar FILE    keep cookies here, in a file of martlet's own
    -i, --include            show status and header also in a pipe
    -v, --verbose            show exchanges on standard error;  --explain: say why
    -o, --output FILE|-      write the body to a file, but not that of an error
        --cache DIR          keep responses here; --http 1.0|1.1|2: this version
        --http2-prior-knowledge  HTTP/2 without TLS;  --har FILE: record exchanges
        --proxy URL          http, https or socks5;  --no-proxy: no proxy at all
        --cacert FILE        believe these roots (PEM) only; --insecure: anybody
        --cert FILE[:PASS]   certificate to show: .p12, .pfx, or PEM and --key FILE
        --resolve HOST[:PORT]:ADDRESS       --unix-socket PATH      connect there
        --transport NAME     urlsession, curl or system;  --timing, -h, --version

    A terminal gets status, header and body, with JSON indented; a pipe gets the
    bytes of the body. NO_COLOR turns colours off, MARTLET_LOG=headers a log on.

    Exit codes  0  status 2xx or 3xx        3  no usable response: refused, lost,
                4  status 4xx                  unknown name, TLS, other status
                5  status 5xx               6  timeout
                2  wrong usage, not sent    1  output or demo failed   130  SIGINT

    Example     martlet PUT :8080/users/7 name=Ada admin:=true q==x Accept:text/csv

    """#
}
