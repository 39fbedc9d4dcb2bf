/** Hashes of passwords: argon2id, on the threads of libuv, and only a few at once. */
import { hash, verify } from '@node-rs/argon2'
import { AuthRefusal } from './refusal.ts'

export interface Passwords {
  /** As it is stored. Rejects with `AuthRefusal` 503 where too many wait. */
  hash(password: string): Promise<string>
  /**
   * Whether a password is the one that was stored. Null is the hash of nobody: never right, for the
   * same work. So is a hash that is none. Rejects as `hash`.
   */
  isRight(password: string, stored: string | null): Promise<boolean>
}

export interface PasswordLimits {
  /** Each takes a core and 19 MiB for some 30 ms. */
  readonly runningMax: number
  /** Who comes after these is sent away: the last one in the queue waits for all before. */
  readonly waitingMax: number
}

/** What OWASP asks of argon2id, which is what `hash` makes: memory in KiB, and passes over it. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** Of 32 random bytes that nobody has kept, at the same cost. */
const DUMMY_HASH = [
  '$argon2id$v=19$m=19456,t=2,p=1',
  'Uu5jox5/1B6fz6dK0m6+iA',
  'UiTeDvfE9kUibwSUy2w7kojhnrog0kaqQSQJwQyYj/A',
].join('$')

/** How soon there is room again, more or less. */
const BUSY_MS = 1000

/** Half of the threads of libuv, which also serve files and names of hosts. */
const LIMITS: PasswordLimits = { runningMax: 2, waitingMax: 64 }

export function createPasswords(limits: PasswordLimits = LIMITS): Passwords {
  const inTurn = createTurns(limits)
  return {
    hash: (password) => inTurn(() => hash(password, COST)),
    isRight: (password, stored) =>
      inTurn(async () => {
        const isKnown = stored?.startsWith('$argon2') === true
        const isRight = await verify(isKnown ? stored : DUMMY_HASH, password).catch(() => false)
        return isKnown && isRight
      }),
  }
}

/** Those of this process: the threads are the same for all who ask. */
export const PASSWORDS: Passwords = createPasswords()

type Turns = <T>(act: () => Promise<T>) => Promise<T>

function createTurns({ runningMax, waitingMax }: PasswordLimits): Turns {
  const waiting: (() => void)[] = []
  let running = 0
  return async (act) => {
    if (running >= runningMax) {
      if (waiting.length >= waitingMax) {
        const busy = { httpStatus: 503, retryAfterMs: BUSY_MS }
        throw new AuthRefusal('too many passwords are being checked', busy)
      }
      // Who ends hands over the place, so nobody else can take it in between.
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
