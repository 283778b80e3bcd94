package dev.isthmus.testing;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.LeakPresenceDetector;
import org.junit.jupiter.api.Test;

/** That the check, which every test class ends with, can fail. */
class NoLeaksTest {

    @Test
    void buffer_held_isSeen() {
        ByteBuf held = ByteBufAllocator.DEFAULT.buffer();
        try {
            assertThatThrownBy(LeakPresenceDetector::check).isInstanceOf(IllegalStateException.class);
        } finally {
            held.release();
        }
        LeakPresenceDetector.check();
    }
}
