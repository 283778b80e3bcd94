package dev.isthmus.gateway.call;

import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The number of gateways that a call has come through, in a header that each gateway sends upstream. It ends a call of a
 * gateway that is its own upstream, which would otherwise ask itself until a timeout.
 */
public final class HopCount {
    /** The header, in lower case. */
    public static final String NAME = HeaderAllowList.HOPS;
    /** What the first gateway sends, where it passes on no other header. */
    public static final Map<String, String> FIRST = Map.of(NAME, "1");

    private static final int MOST_DIGITS = 3;
    private static final int MOST = 999;

    private HopCount() {}

    /** The value to send, for the value that came: what is no count comes from no gateway. */
    public static String next(@Nullable String came) {
        return Integer.toString(Math.min(read(came) + 1, MOST));
    }

    /**
     * That a call may be sent once more.
     *
     * @param headers those that go upstream
     * @param most gateways that a call may come through
     * @throws OipException LOOP_DETECTED where it came through as many already
     */
    public static void check(Map<String, String> headers, int most) {
        int gateways = read(headers.get(NAME));
        if (gateways > most) {
            throw new OipException(
                    ErrorCode.LOOP_DETECTED,
                    "the call came through " + (gateways - 1) + " gateways, at most " + most
                            + " are expected (limits.max_hops): is a gateway its own upstream?");
        }
    }

    private static int read(@Nullable String value) {
        if (value == null || value.isEmpty() || value.length() > MOST_DIGITS) {
            return 0;
        }
        int count = 0;
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c < '0' || c > '9') {
                return 0;
            }
            count = count * 10 + c - '0';
        }
        return count;
    }
}
