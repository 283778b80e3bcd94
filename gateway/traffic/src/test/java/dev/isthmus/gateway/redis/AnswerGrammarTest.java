package dev.isthmus.gateway.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AnswerGrammarTest {
    private final AnswerGrammar grammar = new AnswerGrammar();

    private boolean reads(String bytes) {
        for (byte each : bytes.getBytes(StandardCharsets.UTF_8)) {
            if (!grammar.process(each)) {
                return false;
            }
        }
        return true;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "+OK\r\n",
                "+\r\n",
                "-ERR a\rb\r\n",
                ":-5\r\n",
                "$-1\r\n",
                "$0\r\n\r\n",
                "$4\r\n*9\r\n\r\n",
                "*-1\r\n",
                "*0\r\n",
                "*3\r\n:1\r\n:2\r\n:3\r\n",
                "*5\r\n:0\r\n:1\r\n$7\r\nrunning\r\n$0\r\n\r\n$20\r\n2026-01-01T00:00:00Z\r\n",
                "*16\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
            })
    void answer_isRead_andOneMore(String answer) {
        grammar.asked(2);
        for (int i = 0; i < 3; i++) {
            assertThat(reads(answer)).as(grammar.problem()).isTrue();
        }
        assertThat(reads(answer)).isFalse();
        assertThat(grammar.problem()).isEqualTo("an answer that nobody asked for");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "*2147483647\r\n",
                "*1025\r\n",
                "*99999999999999999999\r\n",
                "*1\r\n*1\r\n",
                "*1\r\n*0\r\n",
                "*x\r\n",
                "*1-\r\n",
                "*1\r2",
                "*1\n",
                "$536870912\r\n",
                "$1048577\r\n",
                "$--1\r\n",
                "+no end\n",
                "%1\r\n",
                ">1\r\n",
                "~1\r\n",
                "|1\r\n",
                "HTTP/1.1 200 OK\r\n",
                "\r\n",
            })
    void other_isRefused(String answer) {
        grammar.asked(1);
        assertThat(reads(answer)).isFalse();
        assertThat(grammar.problem()).isNotEmpty();
    }

    @Test
    void problem_namesValueAndLimit() {
        grammar.asked(1);
        assertThat(reads("*2147483647\r\n")).isFalse();
        assertThat(grammar.problem()).isEqualTo("a list of 2147483647 elements, at most 1024 are expected");
    }

    @Test
    void endlessLine_isRefused() {
        grammar.asked(1);
        assertThat(reads("+" + "x".repeat(AnswerGrammar.MAX_BYTES - 1))).isTrue();
        assertThat(reads("x")).isFalse();
        assertThat(grammar.problem()).isEqualTo("an answer of more than 1048576 bytes");
    }

    @Test
    void longElements_countTogether() {
        grammar.asked(1);
        String element = "$600000\r\n" + "x".repeat(600_000) + "\r\n";
        assertThat(reads("*2\r\n" + element + element)).isFalse();
    }

    @Test
    void answersThatNobodyAskedFor_areRefused_exceptOne() {
        assertThat(reads("-ERR max number of clients reached\r\n")).isTrue();
        assertThat(reads("+")).isFalse();
        assertThat(grammar.problem()).isEqualTo("an answer that nobody asked for");
    }
}
