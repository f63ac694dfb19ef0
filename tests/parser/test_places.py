"""What is found in odd places, with any character and however the text is cut."""

import string

import pytest

import xmltools as xt
from xmltools.errors import Code
from xmltools.parser import build_reply


def outcome(chunks, tools=None, **options):
    parser = xt.Parser(tools, **options)
    events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
    reply = build_reply(events, unclosed_reasoning=parser.unclosed_reasoning)
    return {
        "text": reply.text,
        "reasoning": reply.reasoning,
        "unclosed": reply.unclosed_reasoning,
        "calls": [
            (call.name, call.server, repr(call.arguments), call.span, [(r.code, r.offset) for r in call.repairs])
            for call in reply.calls
        ],
        "errors": [
            (error.code, error.name, repr(error.arguments), error.source, error.span, error.offset)
            for error in reply.errors
        ],
    }


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
EDIT = {"type": "object", "properties": {"line": NUMBER, "text": TEXT}}
TOOL = xt.Tool(
    name="f",
    parameters={
        "type": "object",
        "properties": {
            "a": TEXT,
            "list": {"type": "array", "items": TEXT},
            "edits": {"type": "array", "items": EDIT},
            "edit": EDIT,
            "either": {"anyOf": [EDIT, TEXT]},
            "deep": {"type": "array", "items": {"type": "array", "items": TEXT}},
        },
    },
)


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ("<a>x</a>", [("a",)]),
        ("<list><item>x</item><item>y</item></list>", [("list", 0), ("list", 1)]),
        ("<list>x</list><list>y</list>", []),
        ("<edit><line>1</line><text>y</text></edit>", [("edit", "line"), ("edit", "text")]),
        ("<edits><line>1</line><text>y</text></edits>", [("edits", 0, "line"), ("edits", 0, "text")]),
        (
            "<edits><edit><text>x</text></edit><edit><text>y</text></edit></edits>",
            [("edits", 0, "text"), ("edits", 1, "text")],
        ),
        ("<deep><item><item>x</item><item>y</item></item></deep>", [("deep", 0, 0), ("deep", 0, 1)]),
        ("<list><first>x</first><second>y</second></list>", [("list", 0), ("list", 1)]),
        ("<either><text>x</text></either>", [("either", "text")]),
        ("<zzz>x</zzz>", [("zzz",)]),
        ("<zzz><b>x</b></zzz>", []),
    ],
)
def test_deltas_have_the_path_of_the_value(arguments, paths):
    text = f"<tool><tool_name>f</tool_name><arguments>{arguments}</arguments></tool>"
    parser = xt.Parser([TOOL])
    events = parser.feed(text) + parser.close()
    [call] = [event.call for event in events if isinstance(event, xt.CallCompleted)]
    found = {event.path: event.text for event in events if isinstance(event, xt.ArgumentDelta)}
    assert list(found) == paths
    for path, delta in found.items():
        value = call.arguments
        for step in path:
            value = value[step]
        assert str(value) == delta


def deltas_and_arguments(chunks, tools=None, **options):
    """The joined deltas by their paths, and the arguments of the call."""
    parser = xt.Parser(tools, **options)
    events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
    [call] = [event.call for event in events if isinstance(event, xt.CallCompleted)]
    joined = {}
    for event in events:
        if isinstance(event, xt.ArgumentDelta):
            joined[event.path] = joined.get(event.path, "") + event.text
    return joined, call.arguments


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (r'"it\'s"', r"it\'s"),  # only in single quotes it is an escape
        (r"'it\'s'", "it's"),
        (r"""'it\'s "it"\n'""", 'it\'s "it"\n'),
        (r'"C:\u0next"', r"C:\u0next"),
        (r'"C:\u12"', r"C:\u12"),
        (r'"C:\ud83"', r"C:\ud83"),
        (r'"\"\\\/\b\u00e9\ud83d\ude00"', '"\\/\bé😀'),
    ],
)
def test_deltas_of_strings_in_json_are_their_values_however_they_are_cut(written, value):
    text = f'<tool>{{"tool_name": "f", "arguments": {{"a": {written}, "b": "x"}}}}</tool>'
    pieces = [[text], list(text)]
    pieces += [
        [text[:at], text[at : at + size], text[at + size :]] for at in range(40, len(text)) for size in (1, 2, 5)
    ]
    for chunks in pieces:
        found = deltas_and_arguments(chunks)
        assert found == ({("a",): value, ("b",): "x"}, {"a": value, "b": "x"}), chunks


def test_a_number_in_quotes_has_deltas_and_a_list_in_quotes_has_none():
    arguments = '{"edit": {"line": "5", "text": "y"}, "list": "[]"}'
    text = f'<tool>{{"tool_name": "f", "arguments": {arguments}}}</tool>'
    for chunks in ([text], list(text)):
        found = deltas_and_arguments(chunks, [TOOL])
        assert found[0] == {("edit", "line"): "5", ("edit", "text"): "y"}
        assert found[1] == {"edit": {"line": 5, "text": "y"}, "list": []}


def test_the_deltas_of_a_number_for_a_string_are_its_text():
    text = '<tool>{"tool_name": "f", "arguments": {"a": 0050, "edit": {"line": 6, "text": 1e400}}}</tool>'
    for chunks in ([text], list(text)):
        found, arguments = deltas_and_arguments(chunks, [TOOL])
        assert found == {("a",): "0050", ("edit", "line"): "6", ("edit", "text"): "1e400"}
        assert arguments == {"a": "0050", "edit": {"line": 6, "text": "1e400"}}


def test_of_elements_after_a_token_only_strings_have_deltas():
    mark = "]<]minimax[>["
    given = [("a", "x"), ("list", f"{mark}<item>y{mark}</item>"), ("edit", f"{mark}<line>1{mark}</line>")]
    arguments = "".join(f"{mark}<{name}>{value}{mark}</{name}>" for name, value in given)
    text = f'{mark}<tool_call>{mark}<invoke name="f">{arguments}{mark}</invoke>{mark}</tool_call>'
    for chunks in ([text], list(text)):
        found = deltas_and_arguments(chunks, [TOOL], dialect="minimax_m3")
        assert found == ({("a",): "x"}, {"a": "x", "list": ["y"], "edit": {"line": 1}})


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_line_break_that_frames_a_value_has_no_delta_however_it_is_cut(line_end):
    value = f"one{line_end}two <"
    lines = ["<tool_call>", "<function=f>", "<parameter=a>", value, "</parameter>", "</function>", "</tool_call>"]
    text = line_end.join(lines)
    for at in range(40, len(text) - 30):
        for size in (1, 2, 4, 7):
            chunks = [text[:at], text[at : at + size], text[at + size :]]
            found = deltas_and_arguments(chunks, [TOOL], dialect="qwen3_coder")
            assert found == ({("a",): value}, {"a": value}), chunks


@pytest.mark.parametrize(
    "before", ['{"name": "f"', '{"name": "f", "arguments": {"a": 1', '{"a": [1', "{", '{"a"', '{"a":']
)
def test_any_character_may_stand_in_a_json_body(before):
    for character in [*string.printable, "é", "\x00", "\ud800"]:
        text = f"<tool>{before}{character}}}</tool> and <tool><tool_name>f</tool_name></tool>"
        whole = outcome([text])
        assert outcome(list(text)) == whole
        codes = {error[0] for error in whole["errors"]}
        assert codes <= {Code.INVALID_JSON, Code.MISSING_TOOL_NAME, Code.TRUNCATED}
        # Only a string that does not end reaches over the end of its block.
        endless = character in "\"'" and before[-1] in "{:"
        assert (Code.TRUNCATED in codes) == (len(whole["calls"]) == 0) == endless, text


@pytest.mark.parametrize("body", ["<arguments>{}<a>x</a></arguments>", "<arguments><a>{}</a></arguments>", "{}"])
@pytest.mark.parametrize("before", ["", "<", "</", "<!", "<?", "&", "]]>", "`", "<![CDATA[x]]>"])
def test_any_character_may_begin_a_value_or_stand_between_elements(before, body):
    for character in [*string.printable, "é", "\x00"]:
        text = f"<tool><tool_name>f</tool_name>{body.format(before + character)}</tool>"
        whole = outcome([text])
        assert outcome(list(text)) == whole
        assert len(whole["calls"]) + len(whole["errors"]) == 1, text


def test_a_mention_is_told_by_the_character_before_and_behind_it():
    block = "<tool><tool_name>f</tool_name></tool>"
    begins_a_block = "<{" + string.whitespace.replace("\x0b", "").replace("\x0c", "")
    for character in string.printable:
        assert len(outcome([character + block])["calls"]) == (character != "\\")
        assert len(outcome([character + block + character])["calls"]) == (character not in "`\\")
        mentioned = outcome([f"<tool>{character} {block}"])["text"].startswith("<tool>")
        assert mentioned == (character not in begins_a_block), repr(character)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<tool>{"name": "f", "tool_name": "g"}</tool>', "mean the same"),
        (
            '<tool>{"function": {"name": "f", "arguments": {}}, "arguments": {}}</tool>',
            "'arguments' is in 'function' and",
        ),
        ('<tool>{"name": "f"} x</tool>', "there is something between the JSON object and the end of the block"),
        ('<tool>{"name": 5}</tool>', "name"),
        ('<tool>{"tool_name": 5, "name": "f"}</tool>', "tool_name and name mean the same"),
        (
            "<tool><tool_name>f</tool_name><arguments>{}<a>1</a></arguments></tool>",
            "there are elements beside the JSON object",
        ),
        ("<tool><tool_name>f</tool_name><arguments>{]</arguments></tool>", "the JSON could not be read: "),
        ('<tool>{"name": []]}</tool>', "']' closes nothing that is open"),
        ("<tool>{,}</tool>", "is not allowed there"),
        ('<tool>{"name": "f", "arguments": {}X</tool>', "'X' is not allowed there"),
        ("<tool>" + '{"a":' * 70 + "</tool>", "nests more than 64 deep"),
        ("<tool><tool_name>f</tool_name><tool_name>f</tool_name></tool>", "<tool_name> is in the block twice"),
        ("<tool><tool_name>f</tool_name><!DOCTYPE a></tool>", "the declaration at character 30 is not allowed there"),
        ("<tool><tool_name>f</tool_name><%></tool>", "the < at character 30 begins no tag"),
        ("<tool><tool_name>f<b</tool_name></tool>", "'f<b' is no name"),
        (f"<tool><tool_name>{'f' * 300}</tool_name></tool>", f"'{'f' * 60}' is no name"),
        (f"<tool><a{'b' * 300}>1</a></tool>", f"'a{'b' * 59}' is no name for an argument"),
        ("<tool><tool_name>f</tool_name><tool>{", "a new <tool> starts before this one has ended"),
    ],
)
def test_an_error_says_what_was_wrong(text, message):
    assert message in xt.parse(text).errors[0].message


def test_so_it_does_of_arguments_in_json_between_marks():
    for inside, wrong in (('{"n": 1 x}', "'x'"), ('{"n": [1 x]}', "'x'"), ('{"n": [1 <}', "'<'")):
        text = f"<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{inside}<|tool_call_end|>"
        assert f"{wrong} is not allowed there" in xt.parse(text, dialect="kimi_k2").errors[0].message


def test_so_it_does_of_a_list_of_calls_that_goes_on_after_more_white_space_than_there_may_be():
    for rest in ("", '{"name": "g"}]</tool_call>'):
        text = f'<tool_call>[{{"name": "f"}},{" " * 1_025}{rest}'
        message = xt.parse(text, dialect="hermes").errors[0].message
        assert message == "there is something between the JSON object and the end of the block"


def test_where_backslashes_are_in_doubt_the_hint_says_how_to_write_them():
    text = r'<tool>{"tool_name": "f", "arguments": {"a": "C:\new\quit"}}</tool>'
    assert xt.parse(text).errors[0].hint.startswith("Write each backslash in a JSON string as two")


def every_cut(text, tools=None, **options):
    """The outcome of a text, which is the same for every cut in two and for single characters."""
    whole = outcome([text], tools, **options)
    for at in range(1, len(text)):
        assert outcome([text[:at], text[at:]], tools, **options) == whole, at
    assert outcome(list(text), tools, **options) == whole
    return whole


CALL = "<tool><tool_name>f</tool_name></tool>"


@pytest.mark.parametrize(
    "inside", ["a < b <i>c</i>", "</thin </think", "<think>", "</thinking> ", "`` <tool>", "<<", ""]
)
@pytest.mark.parametrize("starts", [False, True])
def test_reasoning_ends_at_its_own_end_tag(inside, starts):
    if starts and "</thinking>" in inside:
        inside = ""
    thought = "" if starts and inside == "<think>" else inside  # a start tag that repeats the prompt's is no text
    text = f"{'' if starts else '<think>'}{inside}</think>x {CALL}"
    found = every_cut(text, starts_in_reasoning=starts)
    assert (found["reasoning"], found["text"], len(found["calls"])) == (thought, "x ", 1)


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (f"```\n{CALL}\n```", ["code_fence"]),
        (f"```xml\n{CALL}\n```", ["code_fence"]),
        (f"   ```xml\n{CALL}\n```", ["code_fence"]),
        (f"    ```xml\n{CALL}\n```", []),
        (f"a ```xml\n{CALL}\n```", []),
        (f"\n```xml {CALL}", ["code_fence"]),
        (f"```{CALL}\n```\n{CALL}", []),
        (f"```{CALL}\n{CALL}", ["code_fence"]),
        (f"```{CALL}```\n{CALL}", []),
        (f"~~~\n{CALL}\n~~~", ["code_fence"]),
        (f"   ~~~~ a `b`~\n{CALL}", ["code_fence"]),
        (f"~~~\n```\n~~~\n{CALL}", []),
        (f"```\n~~~\n{CALL}", ["code_fence"]),
        (f"~~~~\n~~~\n{CALL}", ["code_fence"]),
        (f"~~~\n~~~ a\n{CALL}", ["code_fence"]),
        (f"~~\n{CALL}", []),
        (f"<!--\n```\n-->\n{CALL}", []),
        (f"<!--\n```\n{CALL}", ["code_fence"]),
        (f"```\n<!--\n```\n-->\n{CALL}", []),
        (f"```\na\n```\n{CALL}", []),
        (f"````\n```\n{CALL}\n````", ["code_fence"]),
        (f"```\n````\n{CALL}", []),
        (f"```\n``` a\n{CALL}", ["code_fence"]),
        (f"```a`b\n{CALL}", []),
        (f"```\n<think>```</think>\n{CALL}", ["code_fence"]),
        (f"<think>\n```\n</think>\n{CALL}", []),
        (f"{CALL}```\n{CALL}", []),
        (f"{CALL}\n```\n{CALL}", ["code_fence"]),
        (f"<think>a</think>```\n{CALL}", ["code_fence"]),
        (f"<think>a</think>```xml\n{CALL}\n```\n{CALL}", []),
        (f"a <think>a</think>```\n{CALL}", []),
    ],
)
def test_a_fence_is_opened_and_closed_by_lines_of_its_own(text, codes):
    assert [code.value for code, _ in every_cut(text, code_fences="call")["calls"][-1][4]] == codes


@pytest.mark.parametrize(
    ("rest", "code"),
    [
        ("<x", "invalid_json"),
        ("<b>", "invalid_json"),
        ("</x> y", "invalid_json"),
        ("</x", "truncated"),
        ("x", "invalid_json"),
        ("<to", "truncated"),
    ],
)
def test_what_stands_behind_a_json_body_is_told_as_soon_as_it_can_be(rest, code):
    assert [error[0].value for error in every_cut(f'<tool>{{"name": "f"}}{rest}')["errors"]] == [code]


@pytest.mark.parametrize(
    ("number", "value"), [("1E5", 1e5), ("1e5", 1e5), ("-0.5", -0.5), ("1.25E-2", 0.0125), ("0", 0), ("-12", -12)]
)
def test_numbers_in_json_are_read_however_they_are_cut(number, value):
    for end in ("}", "]}", ", 1]}"):
        start = '{"a": ' + ("[" if "]" in end else "")
        text = f"<tool><tool_name>f</tool_name><arguments>{start}{number}{end}</arguments></tool>"
        expected = value if end == "}" else [value, 1] if "1" in end else [value]
        assert every_cut(text)["calls"][0][2] == repr({"a": expected})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x</arguments><p>y", "x</arguments><p>y"),
        ("x</arguments> y", "x</arguments> y"),
        ("x</arguments></a>y", "x</arguments></a>y"),
        ("<!-- c -->x<!-- d -->", "<!-- c -->x<!-- d -->"),
        ("x</a", "x</a"),
        ("x</ab>", "x</ab>"),
        ("x<!y", "x<!y"),
        ("x<![CDAT[y", "x<![CDAT[y"),
        ("<![CDATA[x]]>y</arguments>]]>", "x]]>y</arguments>"),
        ("<![CDATA[x]]></arguments>y]]>", "x]]></arguments>y"),
    ],
)
def test_what_looks_like_an_end_in_a_string_is_content(value, expected):
    text = f"<tool><tool_name>f</tool_name><arguments><a>{value}</a></arguments></tool>"
    found = every_cut(text, [TOOL])
    assert found["calls"][0][2] == repr({"a": expected})


@pytest.mark.parametrize(
    ("arguments", "value", "codes"),
    [
        ('<a name="b">x</a>', {"a": "x"}, ["ignored_attribute"]),
        ('<argument name="b">x</argument>', {"b": "x"}, []),
        ('<argument name="b" name="c">x</argument>', {"b": "x"}, ["ignored_attribute"]),
        ('<argument other="b">x</argument>', {"argument": "x"}, ["ignored_attribute"]),
        ("<argument name=b>x</argument>", {"b": "x"}, ["attribute_syntax"]),
        ('<argument name=" b&lt;&nbsp; ">x</argument>', None, []),
        ('<argument name=" b&amp;c ">x</argument>', {"b&c": "x"}, []),
        ('<argument name="b & c">x</argument>', {"b & c": "x"}, ["bare_ampersand"]),
        ('<argument name="&c">x</argument>', {"&c": "x"}, ["bare_ampersand"]),
        ('<a nil="maybe">x</a>', {"a": "x"}, ["ignored_attribute"]),
        ('<argument name="b" nil="true"/>', {"b": None}, []),
        ('<o><argument name="p q">x</argument></o>', {"o": {"p q": "x"}}, []),
        ('<![CDATA[{"a": 1}]]>', {"a": 1}, ["json_arguments"]),
        ('```json\n{"a": 1}\n```', {"a": 1}, ["json_arguments"]),
    ],
)
def test_attributes_and_json_of_arguments(arguments, value, codes):
    found = every_cut(f"<tool><tool_name>f</tool_name><arguments>{arguments}</arguments></tool>")
    read = [(call[2], [code.value for code, _ in call[4]]) for call in found["calls"]]
    assert read == ([] if value is None else [(repr(value), codes)])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("<b><c>1</c>x</b>", {"b": "<c>1</c>x"}),
        ("<b><c>1</c>x</b>y</b>", "<b><c>1</c>x</b>y</b>"),
    ],
)
def test_text_beside_elements_ends_with_the_element_that_holds_both(value, expected):
    found = every_cut(f"<tool><tool_name>f</tool_name><arguments><a>{value}</a></arguments></tool>")
    assert found["calls"][0][2] == repr({"a": expected})


@pytest.mark.parametrize("letter", "Xx\u00a0")
def test_letters_beside_a_section_belong_to_the_value(letter):
    for value in (f"{letter}<![CDATA[y]]>", f"<![CDATA[y]]>{letter}", f" {letter}<![CDATA[y]]>"):
        found = every_cut(f"<tool><tool_name>f</tool_name><arguments><a>{value}</a></arguments></tool>")
        expected = value.replace("<![CDATA[y]]>", "y")
        assert found["calls"][0][2] == repr({"a": expected})


def test_an_attribute_of_an_empty_element_is_told_where_the_value_belongs():
    [error] = xt.parse('<tool><tool_name>f</tool_name><arguments><a k="v"/></arguments></tool>').errors
    assert error.code is Code.MALFORMED_MARKUP
    assert error.hint == "Write the value between the tags: <a>value</a>."


def test_a_name_is_near_if_half_of_it_is_the_same():
    [error] = xt.parse("<tool><tool_name>abcd</tool_name></tool>", tools=[xt.Tool(name="abxy")]).errors
    assert "Did you mean abxy?" in error.hint
    [error] = xt.parse("<tool><tool_name>abcd</tool_name></tool>", tools=[xt.Tool(name="axyz")]).errors
    assert "Did you mean" not in error.hint


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", " \t\n", ""])
@pytest.mark.parametrize("inside", ["x", "x\ny", "x\r\ny]z", "[x] y"])
def test_a_region_in_brackets_ends_at_the_end_of_a_line(end, inside):
    found = every_cut(f"a\n[{inside}]{end}{'b' if end else ''}", bracket_reasoning=True)
    assert found["reasoning"] == inside and found["text"] == f"a\n{end}{'b' if end else ''}"


@pytest.mark.parametrize("wrapper", ["function", "tool", "tool_call", "function_call"])
def test_a_json_body_may_stand_under_a_word_for_a_call(wrapper):
    [call] = every_cut(f'<tool>{{"{wrapper}": {{"name": "f", "arguments": {{"a": 1}}}}}}</tool>')["calls"]
    assert (call[0], call[2], call[4]) == ("f", "{'a': 1}", [(Code.JSON_KEY, 6)])


@pytest.mark.parametrize(
    "value",
    [
        "<item><tool><tool_name>g</tool_name></item>text</a></arguments></tool> and ",
        "<b><![CDATA[<tool><c>]]></b>text</a></arguments></tool> and ",
    ],
)
def test_an_opener_claims_an_end_also_if_the_text_that_makes_a_string_of_the_value_comes_after_it(value):
    anything = xt.Tool(name="f", parameters={"type": "object", "properties": {"a": {}}})
    text = f"<tool><tool_name>f</tool_name><arguments><a>{value}</a></arguments></tool> end"
    found = every_cut(text, [anything])
    assert ([call[2] for call in found["calls"]], found["text"]) == ([repr({"a": value})], " end")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            "<![CDATA[x <![CDATA[ y]]></a></arguments></tool>z ]]> <![CDATA[ more]]>",
            "x <![CDATA[ y]]></a></arguments></tool>z  more",
        ),
        (
            "<![CDATA[x <![CDATA[ y]]></a></arguments></tool>z ]]> <![CDATA[ m]]> <![CDATA[ n]]>",
            "x <![CDATA[ y]]></a></arguments></tool>z  m n",
        ),
    ],
)
def test_deltas_that_an_example_has_held_back_are_the_value_also_of_several_sections(value, said):
    text = f"<tool><tool_name>f</tool_name><arguments><a>{value}</a></arguments></tool>"
    for chunks in ([text], list(text)):
        parser = xt.Parser([TOOL])
        events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
        assert [event.call.arguments for event in events if isinstance(event, xt.CallCompleted)] == [{"a": said}]
        assert "".join(event.text for event in events if isinstance(event, xt.ArgumentDelta)) == said
