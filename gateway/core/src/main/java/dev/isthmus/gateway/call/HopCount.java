package dev.isthmus.gateway.call;

import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.util.Collections;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The number of gateways that a call has passed through, in a header that each gateway sends upstream. It ends the
 * calls of a gateway that is its own upstream, which would otherwise call itself until a timeout.
 */
public final class HopCount {
    /** The header, in lower case. */
    public static final String NAME = HeaderAllowList.HOPS;
    /** The headers that the first gateway sends if it forwards no other; the map keeps its entry. */
    public static final Map<String, String> FIRST = Collections.singletonMap(NAME, "1");

    private static final int MAX_DIGITS = 3;
    private static final int MAX = 999;

    private HopCount() {}

    /** Returns the value to send upstream for a received value. A value that is not a count counts as 0. */
    public static String next(@Nullable String received) {
        return Integer.toString(Math.min(read(received) + 1, MAX));
    }

    /**
     * Checks that a call has not passed through too many gateways.
     *
     * @param headers those that are forwarded upstream
     * @param maxHops the number of gateways that a call may pass through
     * @throws OipException LOOP_DETECTED if it has passed through more
     */
    public static void check(Map<String, String> headers, int maxHops) {
        int gateways = read(headers.get(NAME));
        if (gateways > maxHops) {
            throw new OipException(
                    ErrorCode.LOOP_DETECTED,
                    "the call passed through " + (gateways - 1) + " gateways, at most " + maxHops
                            + " are expected (limits.max_hops): is a gateway its own upstream?");
        }
    }

    private static int read(@Nullable String value) {
        if (value == null || value.isEmpty() || value.length() > MAX_DIGITS) {
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
