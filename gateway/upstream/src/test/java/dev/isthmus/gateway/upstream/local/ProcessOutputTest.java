package dev.isthmus.gateway.upstream.local;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.upstream.local.LocalProcess.ProcessOutput;
import java.io.IOException;
import java.io.Reader;
import java.io.StringReader;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class ProcessOutputTest {
    private final AtomicInteger loaded = new AtomicInteger();

    private void read(Reader printed) throws IOException {
        new ProcessOutput(1, loaded::incrementAndGet).read(printed);
    }

    /** Prints more characters than the heap has bytes, and then something else. */
    private static final class EndlessLine extends Reader {
        private final StringReader rest;
        private long left = 2L << 30;

        EndlessLine(String rest) {
            this.rest = new StringReader(rest);
        }

        @Override
        public int read(char[] to, int offset, int length) throws IOException {
            if (left <= 0) {
                return rest.read(to, offset, length);
            }
            left -= length;
            return length;
        }

        @Override
        public void close() {}
    }

    @Test
    void lineWithoutAnEnd_isCut_andTheNextOneIsRead() throws IOException {
        read(new EndlessLine("\n" + LocalProcess.LOADED + "\n"));
        assertThat(loaded).hasValue(1);
    }

    @Test
    void lineOfATranslator_mayHaveNullMembers() throws IOException {
        read(new StringReader("{\"level\":null,\"message\":null,\"user\":null}\n" + LocalProcess.LOADED));
        assertThat(loaded).hasValue(1);
    }

    @Test
    void lastLine_needsNoEnd() throws IOException {
        read(new StringReader("loading\n" + LocalProcess.LOADED));
        assertThat(loaded).hasValue(1);
        read(new StringReader("loading... " + LocalProcess.LOADED + "\n"));
        assertThat(loaded).hasValue(2);
    }
}
