package dev.isthmus.gateway.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

class HopCountTest {

    @ParameterizedTest
    @NullSource
    @ValueSource(strings = {"", "0", "-3", "+1", "one", "1,1", "0x1", "99999", "1 "})
    void whatIsNoCount_startsAtOne(@Nullable String came) {
        assertThat(HopCount.next(came)).isEqualTo("1");
    }

    @Test
    void count_grows() {
        assertThat(HopCount.next("1")).isEqualTo("2");
        assertThat(HopCount.next("999")).isEqualTo("999");
    }

    @Test
    void moreThanTheMost_isALoop() {
        assertThatCode(() -> HopCount.check(HopCount.FIRST, 1)).doesNotThrowAnyException();
        assertThatCode(() -> HopCount.check(Map.of(HopCount.NAME, "5"), 5)).doesNotThrowAnyException();
        assertThatThrownBy(() -> HopCount.check(Map.of(HopCount.NAME, "6"), 5))
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.LOOP_DETECTED))
                .hasMessage(
                        "the call passed through 5 gateways, at most 5 are expected (limits.max_hops): is a gateway its"
                                + " own upstream?");
    }

    @Test
    void header_isNeverPassedOnAsAClientSentIt() {
        assertThat(HeaderAllowList.of(List.of("isthmus-*", "x-a")).contains(HopCount.NAME))
                .isFalse();
        assertThatThrownBy(() -> HeaderAllowList.of(List.of(HopCount.NAME)))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
