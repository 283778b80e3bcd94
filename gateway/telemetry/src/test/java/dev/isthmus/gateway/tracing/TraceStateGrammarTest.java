package dev.isthmus.gateway.tracing;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TraceStateGrammarTest {
    private static String members(int count) {
        return IntStream.range(0, count).mapToObj(i -> "k" + i + "=v").collect(Collectors.joining(","));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "a=1",
                "a=1,b=2",
                "a=1 , b=2",
                "a=1\t,\tb=2",
                ",a=1,,",
                "foo_-*/9=bar",
                "0a=1",
                "fw529a3039@dt=FfIlZ2",
                "a= 1",
                "a=!\"#$%&'()*+-./:;<>?@[\\]^_`{|}~"
            })
    void validList_isForwarded(String list) {
        assertThat(TraceHeaders.validState(list)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                ",",
                "a",
                "=1",
                "a=",
                "a= ",
                "A=1",
                "a b=1",
                "a=1=2",
                "a=1\n",
                "a=\u00e4",
                "\u00e4=1",
                "a=\u007f",
                "_a=1",
                "@a=1",
                "a@=1",
                "a@1=1",
                "a@b@c=1",
                "a=1,b"
            })
    void malformedList_isNot(String list) {
        assertThat(TraceHeaders.validState(list)).isFalse();
    }

    @Test
    void limits_areThoseOfTheSpecification() {
        assertThat(TraceHeaders.validState(members(32))).isTrue();
        assertThat(TraceHeaders.validState(members(33))).isFalse();
        assertThat(TraceHeaders.validState("a".repeat(256) + "=" + "1".repeat(256)))
                .isTrue();
        assertThat(TraceHeaders.validState("a".repeat(257) + "=1")).isFalse();
        assertThat(TraceHeaders.validState("a=" + "1".repeat(257))).isFalse();
    }
}
