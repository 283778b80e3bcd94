/** Cannot be made. */
public final class Broken {
    public Broken() {
        throw new IllegalStateException("a secret");
    }
}
