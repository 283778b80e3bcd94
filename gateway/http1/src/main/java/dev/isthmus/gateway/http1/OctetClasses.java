package dev.isthmus.gateway.http1;

/** The classes of octets that the grammars of RFC 9110 and RFC 9112 consist of. */
final class OctetClasses {
    static final byte CR = '\r';
    static final byte LF = '\n';

    private static final int ALL = 256;
    private static final String TOKEN_MARKS = "!#$%&'*+-.^_`|~";
    /** Each octet of a token in lower case (RFC 9110, 5.6.2); 0 for the others. */
    private static final byte[] TOKEN = new byte[ALL];

    static {
        for (int i = 0; i < ALL; i++) {
            boolean upper = i >= 'A' && i <= 'Z';
            if (upper || (i >= 'a' && i <= 'z') || (i >= '0' && i <= '9') || TOKEN_MARKS.indexOf(i) >= 0) {
                TOKEN[i] = (byte) (upper ? i + ('a' - 'A') : i);
            }
        }
    }

    private OctetClasses() {}

    /** The octet of a token in lower case; 0 if tokens do not have it. */
    static byte lowerCase(byte octet) {
        return TOKEN[octet & 0xff];
    }

    /** The end of the token that begins here. */
    static int endOfToken(byte[] bytes, int from, int to) {
        int at = from;
        while (at < to && TOKEN[bytes[at] & 0xff] != 0) {
            at++;
        }
        return at;
    }

    /** The end of the visible US-ASCII characters that begin here: those that a target consists of (RFC 3986, 2). */
    static int endOfVisible(byte[] bytes, int from, int to) {
        int at = from;
        while (at < to && bytes[at] > ' ' && bytes[at] != 0x7f) {
            at++;
        }
        return at;
    }

    /** Whether a field's value consists of these: no controls but tabs (RFC 9110, 5.5). */
    static boolean isFieldValue(byte[] bytes, int from, int to) {
        for (int i = from; i < to; i++) {
            byte octet = bytes[i];
            if ((octet >= 0 && octet < ' ' && octet != '\t') || octet == 0x7f) {
                return false;
            }
        }
        return true;
    }

    /** Whether it is a space or a tab. */
    static boolean isBlank(byte octet) {
        return octet == ' ' || octet == '\t';
    }

    /** The value of a hexadecimal digit; -1 if it is none. */
    static int hexadecimal(byte octet) {
        if (octet >= '0' && octet <= '9') {
            return octet - '0';
        }
        int letter = octet | 0x20;
        return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
    }
}
