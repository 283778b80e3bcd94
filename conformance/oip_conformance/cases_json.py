"""Strict JSON: malformed or ambiguous documents are refused before they reach a server. R5, R11."""

from .cases import Chapter
from .client import expect
from .tensors import render

CHAPTER = Chapter("json")
case, each = CHAPTER.case, CHAPTER.each


def good(t):
    echo = t.models.echo()
    return echo, render(echo.body([1]))


def refused_text(t, text):
    """text may contain {good}, a complete valid request, and {rest}, the same without its opening brace."""
    echo, whole = good(t)
    text = text.replace("{good}", whole).replace("{rest}", whole[1:])
    t.rest.post(echo.path + "/infer", text).refused(400)


each("R5", "refused", {
    "empty": "", "space": "  ", "word": "nonsense", "array": "[]", "array-around": "[{good}]", "text": '"x"', "number": "1",
    "null": "null", "truncated": '{"inputs":[', "trailing-word": "{good}xx", "trailing-object": "{good}{}",
    "trailing-bracket": "{good}]", "trailing-comma-value": "{good},", "trailing-nul": "{good}\x00",
    "comment-block": "/*c*/{good}", "comment-line": "{good}//c", "comment-hash": "#c\n{good}",
    "comment-inside": '{/*c*/"id":"1",{rest}',
    "single-quotes": "{'inputs':[]}", "unquoted-key": '{id:"1",{rest}', "trailing-comma": '{"parameters":{"a":1,},{rest}',
    "missing-comma": '{"id":"1" {rest}', "missing-colon": '{"id" "1",{rest}', "bom": "\ufeff{good}",
    "control-in-text": '{"id":"a\nb",{rest}', "tab-in-text": '{"id":"a\tb",{rest}', "bad-escape": '{"id":"\\x41",{rest}',
    "lone-surrogate": '{"id":"\\ud800",{rest}', "invalid-utf8": '{"id":"\udcff\udcfe",{rest}',
    "overlong-utf8": '{"id":"\udcc0\udcaf",{rest}',
    "truncated-utf8": '{"id":"\udcc3",{rest}', "utf8-surrogate": '{"id":"\udced\udca0\udc80",{rest}',
    "utf8-in-key": '{"\udcff":1,{rest}', "unknown-field-broken": '{"x":[1,2,{rest}',
    "capital-true": '{"parameters":{"a":True},{rest}',
})(refused_text)

each("R5", "duplicate", {
    "id": '{"id":"1","id":"2",{rest}', "inputs": '{"inputs":[],{rest}', "parameters": '{"parameters":{},"parameters":{},{rest}',
    "parameter": '{"parameters":{"a":1,"a":2},{rest}', "escaped": '{"id":"1","\\u0069d":"2",{rest}'})(refused_text)


@each("R5", "duplicate-in-tensor", {"name": '"name":"nope",', "shape": '"shape":[9],', "datatype": '"datatype":"INT8",',
                                    "data": '"data":[2],'})
def duplicate_in_tensor(t, field):
    """A field of a tensor that occurs twice: 400."""
    echo, whole = good(t)
    t.rest.post(echo.path + "/infer", whole.replace('{"name"', "{" + field + '"name"', 1)).refused(400)


@each("R11", "depth", {
    "inputs": '{"inputs":{open}{close}}', "unknown-field": '{"x":{open}{close},{rest}',
    "parameter": '{"parameters":{"a":{open}{close}},{rest}',
    "objects": '{"x":{objects},{rest}', "unclosed": "{open}"})
def depth(t, text):
    """A hundred thousand nested brackets are refused, and the endpoint stays up."""
    echo, whole = good(t)
    n = 100000
    for key, value in (("{open}", "[" * n), ("{close}", "]" * n), ("{objects}", '{"a":' * n + "1" + "}" * n),
                       ("{rest}", whole[1:])):
        text = text.replace(key, value)
    answer = t.rest.post(echo.path + "/infer", text)
    answer.refused(400)
    t.rest.get("/v2/health/live").ok()


@case("R11", "depth.data")
def depth_data(t):
    """Data nested a hundred thousand times: 400, and the endpoint stays up."""
    echo = t.models.echo()
    whole = render(echo.body([1]))
    bomb = whole.replace('"data":[', '"data":' + "[" * 100000, 1)[:-3] + "]" * 99999 + "]}]}"
    t.rest.post(echo.path + "/infer", bomb).refused(400)
    t.rest.get("/v2/health/live").ok()


@each("R11", "long", {"key": '{"KEY":1,{rest}', "number": '{"parameters":{"a":NUMBER},{rest}'})
def long(t, text):
    """A token of one megabyte is accepted or refused, never a server error."""
    echo, whole = good(t)
    text = text.replace("{rest}", whole[1:]).replace("KEY", "k" * (1 << 20)).replace("NUMBER", "1" * (1 << 20))
    answer = t.rest.post(echo.path + "/infer", text)
    assert answer.status < 500, f"status is {answer.status}, expected 200 or 400"


@each("R5", "accepted", {
    "space": " \r\n\t{good}\n ", "unknown-fields": '{"x":{"y":[1,null,true,"z"]},{rest}', "order": "{order}",
    "escaped-key": '{"\\u0069d":"1",{rest}', "slash-escape": '{"id":"a\\/b",{rest}',
    "empty-parameters": '{"parameters":{},{rest}'})
def accepted(t, text):
    """White space, escapes, unknown fields and any order of fields are valid JSON."""
    echo, whole = good(t)
    body = echo.body([1])
    order = render({"inputs": [dict(reversed(list(one.items()))) for one in body["inputs"]], "id": "1"})
    for key, value in (("{good}", whole), ("{rest}", whole[1:]), ("{order}", order)):
        text = text.replace(key, value)
    result = t.rest.post(echo.path + "/infer", text).result()
    expect("first element", float(result[echo.output].elements()[0]), 1.0)


@each("R5", "content-type", {"none": None, "charset": "application/json; charset=utf-8", "upper-case": "Application/JSON"})
def content_type(t, kind):
    """A JSON body is accepted with each of these content types, and without one."""
    echo, whole = good(t)
    connection = t.rest.connection()
    try:
        connection.request("POST", echo.path + "/infer", whole.encode(), {} if kind is None else {"Content-Type": kind})
        expect("status", connection.getresponse().status, 200)
    finally:
        connection.close()


each("R13", "non-finite-outside-data", {
    name + "." + word: text % word for word in ("NaN", "Infinity", "-Infinity") for name, text in {
        "unknown-field": '{"x":%s,{rest}', "unknown-nested": '{"x":[{"y":%s}],{rest}', "parameter": '{"parameters":{"a":%s},{rest}',
    }.items()})(refused_text)


@each("R12", "no-number", {name: text for name, text in {
    "leading-zero": "01", "two": "1-2", "no-integer": ".5", "plus": "+1", "sign": "-", "dots": "1.2.3", "no-fraction": "1."}.items()})
def no_number(t, text):
    """Refused whether or not the gateway has to parse the numbers."""
    echo = t.models.echo("FP32")
    t.rest.post(echo.path + "/infer", render(echo.body([7])).replace("[7]", f"[{text}]")).refused(400)


@case("R12", "long-number")
def long_number(t):
    """JSON has no limit to the digits of a number."""
    echo = t.models.echo("FP32")
    text = render(echo.body([7])).replace("[7]", "[-0." + "0" * 75 + "1]")
    t.rest.post(echo.path + "/infer", text).ok()


@case("R5", "generate.deep", dangerous=True)
def generate_deep(t):
    """The limits of JSON also apply to bodies that are forwarded unchanged."""
    t.rest.post(f"/v2/models/{t.models.known[0]}/generate", '{"text_input":' + "[" * 250_000 + "]" * 250_000 + "}").refused(400)
