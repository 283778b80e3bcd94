package dev.isthmus.local.translate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.ndarray.types.Shape;
import org.junit.jupiter.api.Test;

class ReshapeTest {
    private static final Shape MATRIX = new Shape(2, 3);

    @Test
    void expanded_hasAnotherAxis() {
        assertThat(Reshape.expanded(MATRIX, 0)).isEqualTo(new Shape(1, 2, 3));
        assertThat(Reshape.expanded(MATRIX, 1)).isEqualTo(new Shape(2, 1, 3));
        assertThat(Reshape.expanded(MATRIX, 2)).isEqualTo(new Shape(2, 3, 1));
        assertThat(Reshape.expanded(MATRIX, -1)).isEqualTo(new Shape(2, 3, 1));
        assertThat(Reshape.expanded(MATRIX, -3)).isEqualTo(new Shape(1, 2, 3));
        assertThat(Reshape.expanded(new Shape(), 0)).isEqualTo(new Shape(1));
    }

    @Test
    void shapeOfOtherSize_isRefused() {
        assertThat(Reshape.reshaped(MATRIX, new Shape(3, -1))).isEqualTo(new Shape(3, 2));
        assertThatThrownBy(() -> Reshape.reshaped(MATRIX, new Shape(4, -1))).hasMessageContaining("cannot become");
        assertThatThrownBy(() -> Reshape.reshaped(MATRIX, new Shape(-1, -1))).hasMessageContaining("one open extent");
        assertThatThrownBy(() -> Reshape.reshaped(MATRIX, new Shape(0, -1))).hasMessageContaining("cannot become");
    }
}
