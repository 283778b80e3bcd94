package dev.isthmus.gateway.upstream.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.upstream.rest.RestUpstream.EventReader.EventParser;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EventParserTest {
    private static final class TooLarge extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private final List<String> events = new ArrayList<>();

    private static EventParser parser(long maxBytes) {
        return new EventParser(ByteBufAllocator.DEFAULT, maxBytes, () -> {
            throw new TooLarge();
        });
    }

    private void take(ByteBuf event) {
        events.add(event.toString(StandardCharsets.UTF_8));
        event.release();
    }

    private void feed(EventParser parser, byte[] text, int from, int to) {
        parser.feed(Unpooled.wrappedBuffer(text, from, to - from), this::take);
    }

    private List<String> parse(String text, int... splits) {
        events.clear();
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        EventParser parser = parser(1000);
        int from = 0;
        for (int split : splits) {
            feed(parser, bytes, from, split);
            from = split;
        }
        feed(parser, bytes, from, bytes.length);
        parser.release();
        return List.copyOf(events);
    }

    /** ~ is a carriage return, ; a line feed, and | separates the expected events. */
    @ParameterizedTest
    @CsvSource(delimiter = '>', quoteCharacter = '`', textBlock = """
            data: a;;data: b;;                          > a|b
            data: a~~data: b~~                          > a|b
            data: a~;~;data: b~;~;                      > a|b
            data: a~~;data: b;~                         > a|b
            data:a;;data:  b;;                          > a| b
            data: a;data: b;data;data:;data: c;;        > a,b,,,c
            : comment;data: a;: another;data: b;;:;;    > a,b
            event: x;id: 1;data: a;retry: 5;;           > a
            event: x;id: 1;;data: a;;                   > a
            ;;;data: a;;;;                              > a
            datax: no;dat: no;Data: no; data: no;da;;   > ``
            data: a: b;;                                > a: b
            data: a;;data: unfinished;                  > a
            data: a;;data: unfinished                   > a
            data: a;;data: unfinished~                  > a
            data: \u00fc\u4e2d;;                        > \u00fc\u4e2d
            """)
    void text_isRead_howeverItIsSplit(String text, String expected) {
        String stream = text.strip().replace('~', '\r').replace(';', '\n');
        List<String> all = expected.isEmpty()
                ? List.of()
                : List.of(expected.replace(',', '\n').split("\\|", -1));
        int length = stream.getBytes(StandardCharsets.UTF_8).length;
        assertThat(parse(stream)).isEqualTo(all);
        for (int i = 0; i <= length; i++) {
            for (int j = i; j <= length; j++) {
                assertThat(parse(stream, i, j)).as("split at %s and %s", i, j).isEqualTo(all);
            }
        }
        int[] everywhere = new int[length];
        for (int i = 0; i < length; i++) {
            everywhere[i] = i;
        }
        assertThat(parse(stream, everywhere)).isEqualTo(all);
    }

    @Test
    void event_withoutData_isEmpty() {
        assertThat(parse("data\n\ndata:\n\ndata: \n\n")).containsExactly("", "", "");
    }

    @ParameterizedTest
    @CsvSource({
        "data: 1234567890,              15",
        ": 34567890123456,              15",
        "'data: 12\ndata: 3456',        11",
        "'data: 12345678\n: 78901',     14",
    })
    void event_beyondTheLimit_isRefused(String text, int limit) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (int pieces : new int[] {1, 1000}) {
            EventParser parser = parser(limit);
            assertThatThrownBy(() -> {
                        for (int from = 0; from < bytes.length; from += pieces) {
                            feed(parser, bytes, from, Math.min(bytes.length, from + pieces));
                        }
                    })
                    .isInstanceOf(TooLarge.class);
            parser.release();
        }
        assertThat(events).isEmpty();
    }

    @Test
    void events_manyWithinTheLimit_areTaken() {
        EventParser parser = parser(10);
        byte[] event = "data: 1234\n\n".getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < 100; i++) {
            feed(parser, event, 0, event.length);
        }
        parser.release();
        assertThat(events).hasSize(100).containsOnly("1234");
    }

    @Test
    void release_whileAnEventIsTaken_endsTheReading() {
        EventParser parser = parser(1000);
        byte[] bytes = "data: a\n\ndata: b\n\ndata: c".getBytes(StandardCharsets.UTF_8);
        parser.feed(Unpooled.wrappedBuffer(bytes), event -> {
            take(event);
            parser.release();
        });
        assertThat(events).containsExactly("a");
        feed(parser, bytes, 0, bytes.length);
        assertThat(events).containsExactly("a");
    }
}
