package dev.isthmus.transcoder.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class KeySetTest {
    @Test
    void add_ofFewAndManyKeys_isTrueOnceForEach() {
        KeySet keys = new KeySet();

        for (int i = 0; i < 40; i++) {
            assertFalse(keys.contains("key" + i));
            assertTrue(keys.add("key" + i));
            for (int earlier = 0; earlier <= i; earlier++) {
                assertTrue(keys.contains("key" + earlier));
                assertFalse(keys.add("key" + earlier));
            }
            assertEquals(i + 1, keys.size());
        }
    }

    @Test
    void add_ofKeysOfTheProtocol_isTrueOnceForEach() {
        KeySet keys = new KeySet();

        for (String key : "id data name shape x datatype inputs outputs parameters".split(" ", -1)) {
            assertFalse(keys.contains(key));
            assertTrue(keys.add(key));
            assertTrue(keys.contains(key));
            assertFalse(keys.add(key));
        }
        assertEquals(9, keys.size());
    }
}
