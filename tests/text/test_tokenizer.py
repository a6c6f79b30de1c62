"""Tokens and sentences follow the conventions of the bundled models' corpora (the model cards name them)."""

import doctest
import re
import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from elmokit.text import tokenizer
from elmokit.text.alignment import token_offsets
from elmokit.text.tokenizer import split_sentences, tokenize
from refusals import refusals

ANY_TEXT = st.text(
    st.one_of(st.characters(), st.sampled_from("aAnt's.,-_ \n5@!?/“”’–—…\"`MrUS가ㅋ中あア\u0301\u0323\u200d\u00adﬁ"))
)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", ""),
        (" \t\n", ""),
        ("I don't, can't and WON'T.", "I do n't , ca n't and WO N'T ."),
        ("You cannot; it's John's, I'm, they're, we'd've", "You can not ; it 's John 's , I 'm , they 're , we 'd 've"),
        ("the dogs' bowls", "the dogs ' bowls"),
        ("It costs $3.50, or 5% of 1,000.", "It costs $ 3.50 , or 5 % of 1,000 ."),
        ("At 10:30 a.m. on 24/7 and/or AT&T", "At 10:30 a.m. on 24/7 and/or AT&T"),
        ("a well-known, state-of-the-art rock'n'roll", "a well-known , state-of-the-art rock'n'roll"),
        ("Mr. Fox of Acme Inc. met J. R. Smith in the U.S.", "Mr. Fox of Acme Inc. met J. R. Smith in the U.S."),
        ("See Fig. 3, No. 7, pp. 5-9. No.", "See Fig. 3 , No. 7 , pp. 5-9 . No ."),
        ("“Yes,” she said — ‘no’…", "\" Yes , \" she said -- ' no ' ..."),
        ("``Yes,'' «oui»", '" Yes , " " oui "'),
        ("‹Non› oﬃce ﬀ ﬄ ﬅ ﬆ", "' Non ' office ff ffl st st"),
        ("1990–1995 – then---after", "1990-1995 -- then -- after"),
        ("Wait.... what?!", "Wait ... what ? !"),
        ("No!!!!!!!", "No ! ! !"),
        ("see https://x.org/a_b?c=d, or www.x.org.", "see https://x.org/a_b?c=d , or www.x.org ."),
        ("mail foo.bar@x.co.uk (now)", "mail foo.bar@x.co.uk ( now )"),
        ("_word_ snake_case ___", "_ word _ snake_case ___"),
        ("co\u00adop\u200b \ufeffﬁne", "coop fine"),
        ("a\u2028b\u0085c\u00a0d\u3000e", "a b c d e"),
        ("Mr. Kim (김) doesn't know.", "Mr. Kim ( 김 ) does n't know ."),  # the sentence is not Korean
        ("col\u00b7legi \u00b7 N\u00b7m, l\u00b7l", "col\u00b7legi \u00b7 N \u00b7 m , l \u00b7 l"),
        ("\uf0b7First \uf0b7", "\uf0b7 First \uf0b7"),  # a bullet of Word
        ("\ufb01\u0301x", "fíx"),  # composed only once the ligature is two letters
    ],
)
def test_splits_english_as_its_corpus_is_split(text: str, tokens: str):
    assert tokenize(text) == tokens.split()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("3,000명은 “좋다”고 했다!!", "3,000명은 “ 좋다 ” 고 했다 !!"),
        ("ㅋㅋㅋㅋㅋㅋ 눈이 온다……", "ㅋㅋㅋ 눈이 온다 ……"),
        ("ᄒᆞᄂᆞᆯ 天地 “ᄯᅡ”", "ᄒᆞᄂᆞᆯ 天地 “ ᄯᅡ ”"),
        ("ꥠힰᇫ “天地”", "ꥠힰᇫ “ 天地 ”"),
        ("10000원, U.S 정부(政府)가", "10000원 , U.S 정부 ( 政府 ) 가"),
        ("\u1102\u1161 \u201c\u1107\u1161\u11b8\u201d", "나 “ 밥 ”"),  # NFD, as macOS writes it
        ("밥\u200b을", "밥을"),
        ("हिन्दी में लिखें।", "हिन्दी में लिखें ।"),
        ("می\u200cخواهم بروم،", "می\u200cخواهم بروم ،"),
        ("ខ្ញុំ\u200bស្រលាញ់\u200b\u200bភាសា។ 5\u200bក\u200b5", "ខ្ញុំ ស្រលាញ់ ភាសា ។ 5 ក 5"),
        ("ไทย\u200bดี ລາວ\u200bດີ မြန်မာ\u200bစာ a\u200bb", "ไทย ดี ລາວ ດີ မြန်မာ စာ ab"),
        ("צה״ל, ג׳ירפה. ״אם״", "צה״ל , ג׳ירפה . ״ אם ״"),
        ('ד"ר ב"הארץ" וצה"ל-ש "א" א"1', 'ד"ר ב " הארץ " וצה"ל-ש " א " א " 1'),
        ("Ինչպե՞ս ես՞", "Ինչպե՞ս ես ՞"),
        ("m\uf158rk\ue5dc, \uf53a", "m\uf158rk\ue5dc , \uf53a"),
        ("하로바\ueb82 유\uf0a0무선", "하로바\ueb82 유 \uf0a0 무선"),
        ("Я не знаю, п’ять.", "Я не знаю , п'ять ."),
        ("我喜欢苹果。", "我 喜 欢 苹 果 。"),
        ("これはラーメンです。", "これは ラーメン です 。"),
        ("👨\u200d👩\u200d👧 🇰🇷🇺🇸 👍🏽!", "👨\u200d👩\u200d👧 🇰🇷 🇺🇸 👍🏽 !"),
    ],
)
def test_splits_korean_into_eojeols_and_punctuation_and_other_scripts_sensibly(text: str, tokens: str):
    assert tokenize(text) == tokens.split(" ")


@given(ANY_TEXT)
@example("e\u0301")
def test_tokens_are_words_in_nfc_and_with_spaces_between_them_the_same_tokens(text: str):
    tokens = tokenize(text)
    assert all(token.split() == [token] and unicodedata.is_normalized("NFC", token) for token in tokens)
    assert tokenize(" ".join(tokens)) == tokens
    "".join(tokens).encode("utf-8")


@pytest.mark.parametrize(
    "unit",
    [*"a.'\u0301ー밥中।", "a.", "-+", "a+", "a@", "_a", "http://,", "A. ", "αα;", "l\u00b7l", 'א"', "\ue000\u200b"],
)
def test_a_very_long_token_takes_no_time(unit: str):
    start = time.process_time()
    tokenize(unit * (100_000 // len(unit)))
    split_sentences(unit * (100_000 // len(unit)))
    assert time.process_time() - start < 10  # a quadratic expression would need minutes


@pytest.mark.parametrize(
    "sentences",
    [
        ["I came.", "I saw!", "Did I win?", "Yes."],
        ["Dr. Smith met Mr. J. R. Fox of Acme Inc. in Washington D.C. yesterday.", "He left."],
        ["He works at Acme Inc.", "The end."],
        ["Am 3. Oktober 1990, im 19. Jahrhundert, war der 2. Weltkrieg.", "Er war 15.", "Sie kam am 3.", "The end."],
        ["It cost $3.50 in 1999.", "Then it rose."],
        ['"Really?" he asked.', '"Yes."', "(She nodded.)", "Well..."],
        ["1. Introduction follows.", "2. The rest."],
        ["See Fig. 3 for it, i.e. the lower part.", "No. 5 is alive."],
        ["Kim et al. (2012) did it.", "Lee et al. [4] and Fox et al. 2013 did not.", "They won."],
        ["See Eq. 4, Eqs. (4) and (5), Ch. 2, Figs. 1, Ref. [2], Thm. 3.", "It holds (cf. App. 1).", "Done."],
        [
            "By Sects. 3 and 4, Thms. 2, Lem. 3, Prop. 4, Cor. 5, Eqn. 7, Vols. 2, Chs. 3.",
            "Siehe Abb. 3.",
            "Ca. 10 sind da.",
        ],
        ["Item no. 5 came ca. 1850.", "Siehe Nr. 7.", "I said no.", "He did not."],
        ["»Gut.«", "„Kommst du?“", "›Ja.‹", "‚Nein!‘", "„Dr. Fox kam.“", "»Ja?« fragte er. „nein.“"],
        ["Il dit : « Viens ! »", "« Oui ? » dit-elle.", "‹\u202fNon.\u202f›", "Elle vint.", "« Oui. »"],
        ["وصل.\u200f", "ثم.\u200b\u2060", "\u200fDr.\u200f Fox went.\u00ad", "He.\ufeff", "\u200bThe end. \u200ethen."],
        ["Er kam.¹", "Sie ging.[1][a]", "Finis.*", "Then.”†", "Now."],
        ["그는 왔다.", "좋았다!", "“정말?”", "그렇다."],
        ["It goes on. like this, in lower case.", "But not here."],
        ["그는 2020. 5. 3.에 왔다.", "좋았다."],
        ["هل ذهبت إلى البيت؟", "نعم، ذهبت."],
        ["یہ ایک کتاب ہے۔", "وہ گھر گیا۔"],
        ["वह घर गया।", "क्या आप आएँगे?", "धर्मक्षेत्रे कुरुक्षेत्रे॥", "इति।"],
        ["Նա տուն գնաց։", "Եկավ։"],
        ["ქართული ენა.", "მეორე!", "„ეს არის?“", "დიახ."],
        ["ሰላም ነው።", "ደህና ነኝ፡፡", "እንዴት ነህ፧", "እሺ::", "እሺ።"],
        ["བཀྲ་ཤིས་བདེ་ལེགས།", "ང་ཡོད།", "།དེ་རེད༎", "དེ།"],
        ["ខ្ញុំទៅផ្សារ។", "គាត់នៅផ្ទះ៕", "ល្អ"],
        ["သူ ရှိသည်။", "သူ ရှိသည်။"],
        ["ᠮᠣᠩᠭᠣᠯ᠃", "ᠪᠢ᠃"],
        ["בראשית ברא׃", "ויאמר׃", "ꯑꯩ꯫", "ꦄ꧈", "ꦏ꧉", "ᬅ᭚", "ᬓ᭛", "ᬅ᭞", "ᬓ᭟"],
        ["ܐܝܟܢܐ ܐܢܬ܀", "ܛܒ܂"],
        ["Τι κάνεις;", "Καλά είμαι.", "Εσύ\u037e", "«Πού;»", "Εδώ;!"],
        [unicodedata.normalize("NFD", "Γιατί;"), "Έτσι."],
        ["Was it α; Or β?", "It was γ."],
        ["ἦν ὁ λόγος; καὶ οὐκ ἦν. οὗτος ἦν."],
        ["He came; She left; Дом; Она; 집; 밥; α; Β."],
    ],
)
def test_finds_the_sentences(sentences: list[str]):
    assert split_sentences(" ".join(sentences)) == sentences


def test_an_empty_line_ends_a_sentence_a_line_end_does_not_and_chinese_needs_no_space():
    lines = ["A title", "A sentence over\ntwo lines.", "Another"]
    assert split_sentences("A title\n\nA sentence over\ntwo lines. Another") == lines
    assert split_sentences("今天好。他说：「明天好。」我们走！") == ["今天好。", "他说：「明天好。」", "我们走！"]
    for said in ('"안녕?" 하고 그가 말했다.', "“간다.” 라고 말했다."):
        assert split_sentences(said) == [said]
    assert split_sentences("“간다.” 라면을 먹었다.") == ["“간다.”", "라면을 먹었다."]
    assert split_sentences("他好。[1]他说。²") == ["他好。[1]", "他说。²"]
    assert split_sentences("") == split_sentences(" \n\n ") == []


@given(ANY_TEXT)
def test_sentences_are_the_text(text: str):
    sentences = split_sentences(text)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(sentence == sentence.strip() != "" for sentence in sentences)


def test_the_docstrings_are_true():
    results = doctest.testmod(tokenizer)
    assert results.attempted > 0 and results.failed == 0


def test_what_is_not_a_string_is_refused(snapshot: SnapshotAssertion):
    assert refusals(tokenize, (None, ["a b"], b"a")) == snapshot


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
    assert token_offsets("ab", ["a", "\u200b", "b"]) == [(0, 1), (1, 1), (1, 2)]  # an invisible token is empty


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


def test_refuses_tokens_of_another_text(snapshot: SnapshotAssertion):
    assert refusals(lambda tokens: token_offsets("a b", tokens), (["a", "c"], ["a"], ["a", "b", "c"])) == snapshot


def test_every_mark_of_unicode_belongs_to_the_letter_before_it():
    marks = [chr(code) for code in range(0x300, 0x1F000) if unicodedata.category(chr(code)).startswith("M")]
    assert re.fullmatch(f"[{tokenizer.combining_marks()}]+", "".join(marks))
