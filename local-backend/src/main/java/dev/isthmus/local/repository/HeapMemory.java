package dev.isthmus.local.repository;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.util.function.Supplier;

/** Room on the heap for the bytes of models. An array that does not fit would end the process. */
public final class HeapMemory {
    private HeapMemory() {}

    /**
     * Makes an array if the heap has room for it, one at a time.
     *
     * @throws OipException FAILED_PRECONDITION if it has not; an eighth of it is left to everything else
     */
    public static synchronized byte[] allocate(String what, int bytes, Supplier<byte[]> array) {
        if (room() < bytes) {
            System.gc();
        }
        if (room() < bytes) {
            throw new OipException(
                    ErrorCode.FAILED_PRECONDITION,
                    what + " has " + bytes + " bytes, for which there is no room on the heap: at most " + room()
                            + " are expected (-Xmx)");
        }
        return array.get();
    }

    private static long room() {
        Runtime jvm = Runtime.getRuntime();
        return Math.max(0, jvm.maxMemory() / 8 * 7 - (jvm.totalMemory() - jvm.freeMemory()));
    }
}
