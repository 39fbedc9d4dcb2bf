/** Password hashes: argon2id on the libuv threads, with limited concurrency. */
import { hash, verify } from '@node-rs/argon2'
import { AuthRefusal } from './refusal.ts'

export interface Passwords {
  /** Returns the hash to store. Rejects with `AuthRefusal` 503 if the queue is full. */
  hash(password: string): Promise<string>
  /**
   * Whether the password matches the stored hash. Null or a malformed hash never matches, and takes
   * the same time. Rejects like `hash`.
   */
  isRight(password: string, stored: string | null): Promise<boolean>
}

export interface PasswordLimits {
  /** Each takes a core and 19 MiB for about 30 ms. */
  readonly runningMax: number
  /** Requests beyond this queue length are refused: waiting time grows with the queue. */
  readonly waitingMax: number
}

/** OWASP's parameters for argon2id, the algorithm of `hash`: memory in KiB, number of passes. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** Hash of 32 discarded random bytes, with the same cost. */
const DUMMY_HASH = [
  '$argon2id$v=19$m=19456,t=2,p=1',
  'Uu5jox5/1B6fz6dK0m6+iA',
  'UiTeDvfE9kUibwSUy2w7kojhnrog0kaqQSQJwQyYj/A',
].join('$')

/** Approximate time until a queue position is free. */
const BUSY_MS = 1000

/** Half of the libuv threads, which also serve files and DNS lookups. */
const LIMITS: PasswordLimits = { runningMax: 2, waitingMax: 64 }

export function createPasswords(limits: PasswordLimits = LIMITS): Passwords {
  const limited = createLimiter(limits)
  return {
    hash: (password) => limited(() => hash(password, COST)),
    isRight: (password, stored) =>
      limited(async () => {
        const isKnown = stored?.startsWith('$argon2') === true
        const isRight = await verify(isKnown ? stored : DUMMY_HASH, password).catch(() => false)
        return isKnown && isRight
      }),
  }
}

/** Shared by the process, like the libuv threads. */
export const PASSWORDS: Passwords = createPasswords()

type Limiter = <T>(act: () => Promise<T>) => Promise<T>

function createLimiter({ runningMax, waitingMax }: PasswordLimits): Limiter {
  const waiting: (() => void)[] = []
  let running = 0
  return async (act) => {
    if (running >= runningMax) {
      if (waiting.length >= waitingMax) {
        const busy = { httpStatus: 503, retryAfterMs: BUSY_MS }
        throw new AuthRefusal('too many passwords are being checked', 'unavailable', busy)
      }
      // A finished task passes its slot to the next in the queue, so that no new task can take it.
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      running += 1
    }
    try {
      return await act()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
