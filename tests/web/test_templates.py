"""What is filled into a template is escaped, and a name without a value is an error."""

import pytest
from jinja2 import UndefinedError

from elmokit.web.templates import template_environment


def test_values_are_escaped():
    template = template_environment("elmokit.web.demo").from_string("<b>{{ word }}</b>")
    assert template.render(word="<i>&") == "<b>&lt;i&gt;&amp;</b>"


def test_a_name_without_a_value_is_an_error():
    with pytest.raises(UndefinedError, match="'word' is undefined"):
        template_environment("elmokit.web.demo").from_string("{{ word }}").render()


def test_every_template_of_the_demo_can_be_read():
    environment = template_environment("elmokit.web.demo")
    names = environment.list_templates()
    assert names == ["page.html", "picture.svg"]
    for name in names:
        environment.get_template(name)
