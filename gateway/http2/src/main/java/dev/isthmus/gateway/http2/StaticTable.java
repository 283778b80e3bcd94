package dev.isthmus.gateway.http2;

import io.netty.util.AsciiString;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** The static table of HPACK (RFC 7541, A). */
final class StaticTable {
    /** Each entry is its name and its value, which may be empty. */
    private static final String[][] ENTRIES = Arrays.stream("""
            :authority|:method=GET|:method=POST|:path=/|:path=/index.html|:scheme=http|:scheme=https|\
            :status=200|:status=204|:status=206|:status=304|:status=400|:status=404|:status=500|accept-charset|\
            accept-encoding=gzip, deflate|accept-language|accept-ranges|accept|access-control-allow-origin|age|\
            allow|authorization|cache-control|content-disposition|content-encoding|content-language|\
            content-length|content-location|content-range|content-type|cookie|date|etag|expect|expires|from|\
            host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since|last-modified|link|\
            location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|\
            server|set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate\
            """.split("\\|"))
            .map(entry -> (entry + "=").split("=", -1))
            .toArray(String[][]::new);

    static final int SIZE = ENTRIES.length;

    private static final Map<AsciiString, Integer> NAMES = names();

    private StaticTable() {}

    /** Index of the first entry with this name, 0 if absent. */
    static int indexOf(AsciiString name) {
        Integer index = NAMES.get(name);
        return index == null ? 0 : index;
    }

    /** Index of the entry with this name and value, 0 if absent. */
    static int indexOf(AsciiString name, CharSequence value) {
        int index = indexOf(name);
        while (index > 0 && index <= SIZE && name.contentEquals(ENTRIES[index - 1][0])) {
            if (AsciiString.contentEquals(value, ENTRIES[index - 1][1])) {
                return index;
            }
            index++;
        }
        return 0;
    }

    private static Map<AsciiString, Integer> names() {
        Map<AsciiString, Integer> names = new HashMap<>();
        for (int i = 0; i < ENTRIES.length; i++) {
            names.putIfAbsent(AsciiString.of(ENTRIES[i][0]), i + 1);
        }
        return Map.copyOf(names);
    }
}
