import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from elmokit.text.alignment import token_offsets
from elmokit.text.tokenizer import tokenize

ANY_TEXT = st.text(
    st.one_of(st.characters(), st.sampled_from("aAnt's.,-_ \n5@!?/“”’–—…\"`MrUS가ㅋ中あア\u0301\u0323\u200d\u00adﬁ"))
)


def pieces(text: str, tokens: list[str] | None = None) -> list[str]:
    tokens = tokenize(text) if tokens is None else tokens
    return [text[start:end] for start, end in token_offsets(text, tokens)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  It's\tfine. ", ["It", "'s", "fine", "."]),
        ("“Don’t” – she said…", ["“", "Do", "n’t", "”", "–", "she", "said", "…"]),
        ("``So''", ["``", "So", "''"]),
        ("1990–95 —really", ["1990–95", "—", "really"]),
        ("cafe\u0301, e\u0301", ["cafe\u0301", ",", "e\u0301"]),
        ("soft\u00adware \ufb01ne", ["soft\u00adware", "\ufb01ne"]),
        ("No!!!!!! Well.. ----", ["No", "!", "!", "!!!!", "Well", "..", "----"]),
        ("“밥”이 ㅋㅋㅋㅋㅋ", ["“", "밥", "”", "이", "ㅋㅋㅋㅋㅋ"]),
        ("밥 ㅋㅋㅋㅋㅋ ㅋㅋㅋㅋ 정말.. .....", ["밥", "ㅋㅋㅋㅋㅋ", "ㅋㅋㅋㅋ", "정말", "..", "....."]),
        ("yes..... .. Wow!!!!! ! ------ ---", ["yes", ".....", "..", "Wow", "!", "!", "!!!", "!", "------", "---"]),
        ("ខ្ញុំ\u200bភាសា col\u00b7legi צה“ל", ["ខ្ញុំ", "ភាសា", "col\u00b7legi", "צה“ל"]),
        ("中国 人", ["中", "国", "人"]),
        ("", []),
    ],
)
def test_gives_the_text_of_each_token(text: str, expected: list[str]):
    assert pieces(text) == expected
    assert token_offsets("ab", ["a", "\u200b", "b"]) == [(0, 1), (1, 1), (1, 2)]  # nothing of one that is invisible


@given(ANY_TEXT)
@example(".. .")
@example("a\u0301\u0323 b")  # NFC puts the dot below first
def test_every_token_of_every_text_has_its_place(text: str):
    tokens = tokenize(text)
    offsets = token_offsets(text, tokens)
    assert all(0 <= start < end <= len(text) for start, end in offsets)
    assert offsets == sorted(offsets)
    for token, piece in zip(tokens, pieces(text, tokens), strict=True):
        if token.isalnum():
            assert token in (unicodedata.normalize("NFC", piece), "".join(tokenize(piece)))


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["a", "c"], "token 1, 'c', does not match the text at character 2, 'b'"),
        (["a"], "the end of the tokens does not match the text at character 2, 'b'"),
        (["a", "b", "c"], "token 2, 'c', does not match the text at its end"),
    ],
)
def test_refuses_tokens_of_another_text(tokens: list[str], message: str):
    with pytest.raises(ValueError, match=message):
        token_offsets("a b", tokens)
