package dev.isthmus.gateway.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.Base64;

/**
 * The admin token of a gateway without a configuration.
 *
 * @param file with the token, which only its owner can read; deleted at the end of the process
 */
record DemoToken(String text, Path file) {
    private static final int BYTES = 18;

    static DemoToken create() throws IOException {
        byte[] random = new byte[BYTES];
        new SecureRandom().nextBytes(random);
        String text = Base64.getUrlEncoder().withoutPadding().encodeToString(random);
        Path file = Files.createTempFile("isthmus", ".token");
        file.toFile().deleteOnExit();
        Files.writeString(file, text);
        return new DemoToken(text, file);
    }
}
