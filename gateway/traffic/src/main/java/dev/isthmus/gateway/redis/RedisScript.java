package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.settings.Digests;

/**
 * A script that the server runs at once, on one key.
 *
 * @param digest by which the server knows it
 */
record RedisScript(String text, String digest) {
    /** Arguments: tokens to take at first, more, microseconds per token, microseconds of burst. */
    static final RedisScript TAKE = of("""
            local now = redis.call('TIME')
            now = now[1] * 1000000 + now[2]
            local first, more = tonumber(ARGV[1]), tonumber(ARGV[2])
            local cost, burst = tonumber(ARGV[3]), tonumber(ARGV[4])
            local debt = math.max(tonumber(redis.call('GET', KEYS[1]) or now) - now, 0)
            local taken, wait = 0, 0
            if first > 0 then
              wait = debt + math.min(first * cost, burst) - burst
              if wait <= 0 then
                taken = first
                debt = debt + first * cost
              end
            end
            if wait <= 0 then
              local left = math.max(0, math.min(more, math.floor((burst - debt) / cost)))
              taken = taken + left
              debt = debt + left * cost
            end
            if taken > 0 then
              redis.call('SET', KEYS[1], string.format('%.3f', now + debt), 'PX', math.ceil(debt / 1000) + 1000)
            end
            return {taken, math.ceil(math.max(wait, 0)), math.ceil(debt)}
            """);

    /** Arguments: tokens to return, microseconds per token. */
    static final RedisScript GIVE_BACK = of("""
            local full = redis.call('GET', KEYS[1])
            if full then
              redis.call('SET', KEYS[1], string.format('%.3f', tonumber(full) - ARGV[1] * ARGV[2]), 'KEEPTTL')
            end
            return {}
            """);

    /**
     * Arguments: a command (merge, advance, pause, resume, restart), the caller's round, step, state, reason and time of
     * the last change, and the step and state to advance to. Returns the common round, step, state, reason and time.
     */
    static final RedisScript RAMP = of("""
            local names = {'round', 'step', 'state', 'reason', 'changed'}
            local mine = {tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]}
            local common = redis.call('HMGET', KEYS[1], unpack(names))
            local function put(values)
              common = values
              for i, name in ipairs(names) do redis.call('HSET', KEYS[1], name, values[i]) end
            end
            local function share(values)
              return values[3] == 'rolled_back' and -1 or values[2]
            end
            if not common[1] then
              put(mine)
            else
              common[1], common[2] = tonumber(common[1]), tonumber(common[2])
              if common[1] < mine[1] then
                local lower = share(mine) <= share(common) and mine or common
                put({mine[1], lower[2], lower[3], lower[4], lower[5]})
              elseif common[1] == mine[1] and mine[3] == 'rolled_back' and common[3] ~= 'rolled_back' then
                put(mine)
              end
            end
            local command, time = ARGV[1], ARGV[9]
            if command == 'advance' and common[1] == mine[1] and common[2] == mine[2] and common[3] == 'running' then
              put({common[1], tonumber(ARGV[7]), ARGV[8], '', time})
            elseif command == 'pause' and common[3] == 'running' then
              put({common[1], common[2], 'paused', common[4], time})
            elseif command == 'resume' and common[3] == 'paused' then
              put({common[1], common[2], 'running', common[4], time})
            elseif command == 'restart' then
              put({common[1] + 1, 0, 'running', '', time})
            end
            return {common[1], common[2], common[3], common[4], common[5]}
            """);

    /**
     * Arguments: a command (drain, enable, list), an address, and who drains it since when and why. Returns addresses, each
     * followed by that; the first is empty if there is a list, however short.
     */
    static final RedisScript DRAIN = of("""
            local stored = redis.call('GET', KEYS[1])
            local all = cjson.decode(stored or '{}')
            if ARGV[1] ~= 'list' then
              all[ARGV[2]] = ARGV[1] == 'drain' and ARGV[3] or nil
              stored = cjson.encode(all)
              redis.call('SET', KEYS[1], stored)
            end
            local list = stored and {'', ''} or {}
            for address, text in pairs(all) do
              list[#list + 1] = address
              list[#list + 1] = text
            end
            return list
            """);

    private static RedisScript of(String text) {
        return new RedisScript(text, Digests.hex("SHA-1", text));
    }
}
