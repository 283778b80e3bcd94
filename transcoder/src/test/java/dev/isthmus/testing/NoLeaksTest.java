package dev.isthmus.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.junit.jupiter.api.Test;

/** The check after every test class can fail. */
class NoLeaksTest {

    @Test
    void buffer_held_isSeenUntilItIsReleased() {
        ByteBuf held = ByteBufAllocator.DEFAULT.buffer();
        assertThat(NoLeaks.settles(0)).isFalse();
        assertThat(NoLeaks.settles(1_000_000)).isFalse();
        held.release();
        assertThat(NoLeaks.settles(0)).isTrue();
    }
}
