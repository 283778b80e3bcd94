package dev.isthmus.gateway.http2;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The result does not depend on how the bytes of a connection are split into reads. */
class SplitReadsTest {
    private static final Http2Options OPTIONS =
            new Http2Options(100_000, 200_000, 16_384, 100, 8192, 100, AbuseLimits.NONE);

    /** A connection with every type of frame and all their flags. */
    private static ByteBuf input() {
        ByteBuf padded = Unpooled.wrappedBuffer(new byte[] {3, 'p', 'a', 'd', 'd', 'e', 'd', 0, 0, 0});
        return Unpooled.wrappedBuffer(
                RawFrames.preface(),
                RawFrames.frame(FrameType.SETTINGS, 0, 0, "000400100000" + "000500008000"),
                RawFrames.frame(FrameType.SETTINGS, FrameType.ACK, 0, ""),
                RawFrames.frame(FrameType.WINDOW_UPDATE, 0, 0, "00100000"),
                // Padding, priority, no END_HEADERS; the block adds a field to the dynamic table.
                RawFrames.frame(FrameType.HEADERS, 0x28, 1, "02" + "0000000010" + "8386" + "0000"),
                RawFrames.frame(FrameType.CONTINUATION, 0, 1, ""),
                RawFrames.frame(FrameType.CONTINUATION, FrameType.END_HEADERS, 1, "84" + "400161" + "0162"),
                RawFrames.frame(FrameType.DATA, FrameType.PADDED, 1, padded),
                RawFrames.frame(0x77, 0xff, 9, "0102030405"),
                RawFrames.frame(FrameType.DATA, 0, 1, ""),
                RawFrames.frame(FrameType.PRIORITY, 0, 5, "0000000010"),
                RawFrames.frame(FrameType.PING, 0, 0, "0102030405060708"),
                RawFrames.request(3, false),
                RawFrames.frame(FrameType.DATA, 0, 3, "61".repeat(300)),
                RawFrames.frame(FrameType.HEADERS, 5, 1, "be"),
                RawFrames.frame(FrameType.DATA, FrameType.END_STREAM | FrameType.PADDED, 3, "01" + "6262" + "00"),
                RawFrames.request(5, false),
                RawFrames.frame(FrameType.WINDOW_UPDATE, 0, 5, "00000100"),
                RawFrames.frame(FrameType.RST_STREAM, 0, 5, "00000008"),
                RawFrames.request(7, true),
                RawFrames.frame(FrameType.GOAWAY, 0, 0, "00000000" + "00000000" + "6279"));
    }

    private static List<String> heard(ByteBuf... reads) {
        try (EmbeddedHttp2Connection bench = EmbeddedHttp2Connection.server(OPTIONS)) {
            bench.send(reads);
            List<String> all = new ArrayList<>(bench.written());
            for (int i = 0; i < bench.requests(); i++) {
                RecordingStreamListener heard = bench.request(i);
                all.add(heard.events + " " + heard.headers + " " + heard.body);
            }
            all.addAll(bench.connectionEvents);
            assertThat(bench.channel.isOpen()).isTrue();
            return all;
        }
    }

    @Test
    void wholeInput_isHeard() {
        assertThat(heard(input()))
                .contains("PING ack 72623859790382856", "ready")
                .filteredOn(line -> line.startsWith("[headers"))
                .hasSize(4)
                .satisfies(lines -> {
                    assertThat(lines.get(0))
                            .startsWith("[headers, headers end]")
                            .endsWith(" padded");
                    assertThat(lines.get(1)).startsWith("[headers, data end]").endsWith("aabb");
                    assertThat(lines.get(2)).startsWith("[headers, closed RESET 8]");
                    assertThat(lines.get(3)).startsWith("[headers end]");
                });
    }

    @Test
    void byteByByte_isTheSame() {
        ByteBuf input = input();
        ByteBuf[] bytes = new ByteBuf[input.readableBytes()];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = Unpooled.copiedBuffer(input.slice(i, 1));
        }
        assertThat(heard(bytes)).isEqualTo(heard(input()));
    }

    @Test
    void splitAnywhere_isTheSame() {
        List<String> whole = heard(input());
        int length = input().readableBytes();
        for (int at = 1; at < length; at++) {
            assertThat(heard(input().readSlice(at), input().skipBytes(at)))
                    .as("split at %d", at)
                    .isEqualTo(whole);
        }
    }
}
