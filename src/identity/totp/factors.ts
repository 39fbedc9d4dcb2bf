/** Second factors of users, in the collection `secondfactors`. */
import { createHash, randomInt } from 'node:crypto'
import type { SecondFactorDocument } from '../../catalog/records/second-factor.ts'
import type { Sealer } from '../../catalog/sealing/sealing.ts'
import { isInserted } from '../../catalog/transactions/duplicate.ts'
import type { AuthDeps } from '../auth-deps.ts'
import { AuthRefusal } from '../refusal.ts'
import { ACCEPTED_MS, newSecret, stepOf } from './codes.ts'

export interface FactorState {
  readonly isEnrolled: boolean
  readonly enrolledMs: number | null
  readonly recoveryCodesLeft: number
}

/** Proof of the second factor: a code, or a consumed recovery code. */
export type Proof = 'code' | { readonly recoveryCodesLeft: number }

/** `id`: the user id of sessions. Each rejects if a store is unavailable. */
export interface SecondFactors {
  state(id: string): Promise<FactorState>
  /**
   * Returns a new secret, which becomes active when `confirm` receives a code of it. `enrolledMs`:
   * of the state that the caller has seen, whose factor was proved. Throws `AuthRefusal` if another
   * factor has been set up since.
   */
  begin(id: string, username: string, enrolledMs: number | null): Promise<string>
  /** Returns the recovery codes; null if the code is wrong. Throws `AuthRefusal` before `begin`. */
  confirm(id: string, code: string): Promise<readonly string[] | null>
  /** Consumes a code or a recovery code; null if it is wrong or was used before. */
  prove(id: string, code: string): Promise<Proof | null>
  /** Replaces the recovery codes. */
  renewRecoveryCodes(id: string): Promise<readonly string[]>
  /** Users of that name, local and in directories. */
  idsOf(username: string): Promise<readonly string[]>
  /** False if there was none. */
  remove(id: string): Promise<boolean>
}

type Deps = Pick<AuthDeps, 'catalog' | 'keys' | 'clock'> & { readonly sealer: Sealer }

const UNREADABLE = 'the second factor cannot be checked: its key is not known to this process'

export function createSecondFactors(deps: Deps): SecondFactors {
  const { catalog, sealer } = deps
  const { secondfactors } = catalog
  return {
    async state(id) {
      const found = await find(deps, id)
      return {
        isEnrolled: isEnrolled(found),
        enrolledMs: found?.enrolled_at?.getTime() ?? null,
        recoveryCodesLeft: found?.recovery.length ?? 0,
      }
    },

    async begin(id, username, enrolledMs) {
      const secret = newSecret()
      const first = { secret: null, recovery: [] }
      const change = { $set: { username, pending: sealer.seal(secret) }, $setOnInsert: first }
      const seen = { _id: id, enrolled_at: enrolledMs === null ? null : new Date(enrolledMs) }
      if (!(await isInserted(secondfactors.updateOne(seen, change, { upsert: true })))) {
        throw new AuthRefusal('the second factor was set up by another request just now', 'refused')
      }
      return secret
    },

    confirm: (id, code) => confirmed(deps, id, code),
    prove: (id, code) => proved(deps, id, code),

    async renewRecoveryCodes(id) {
      const codes = newRecoveryCodes()
      const recovery = codes.map(recoveryHash)
      await secondfactors.updateOne({ _id: id }, { $set: { recovery } })
      return codes
    },

    async idsOf(username) {
      const found = await secondfactors.find({ username }, { projection: { _id: 1 } }).toArray()
      return found.map(({ _id: id }) => id)
    },

    async remove(id) {
      const { deletedCount } = await secondfactors.deleteOne({ _id: id })
      return deletedCount === 1
    },
  }
}

function find({ catalog }: Deps, id: string): Promise<SecondFactorDocument | null> {
  return catalog.secondfactors.findOne({ _id: id })
}

async function confirmed(deps: Deps, id: string, code: string): Promise<string[] | null> {
  const { catalog, clock } = deps
  const pending = (await find(deps, id))?.pending ?? null
  if (pending === null) throw new AuthRefusal('begin first: POST /auth/totp/begin', 'refused')
  if (!(await useCode(deps, pending, code))) return null
  const codes = newRecoveryCodes()
  const recovery = codes.map(recoveryHash)
  const enrolled_at = new Date(clock.nowMs())
  const fields = { secret: pending, pending: null, enrolled_at, recovery }
  // Another enrolment may have begun in the meantime.
  const { matchedCount } = await catalog.secondfactors.updateOne(
    { _id: id, pending },
    { $set: fields },
  )
  return matchedCount === 1 ? codes : null
}

async function proved(deps: Deps, id: string, code: string): Promise<Proof | null> {
  const { catalog } = deps
  const found = await find(deps, id)
  if (found === null || found.secret === null) return null
  if (await useCode(deps, found.secret, code)) return 'code'
  const hash = recoveryHash(code)
  if (!found.recovery.includes(hash)) return null
  const used = await catalog.secondfactors.findOneAndUpdate(
    { _id: id, recovery: hash },
    { $pull: { recovery: hash } },
    { returnDocument: 'after' },
  )
  return used === null ? null : { recoveryCodesLeft: used.recovery.length }
}

export function isEnrolled(found: Pick<SecondFactorDocument, 'secret'> | null): boolean {
  return found !== null && found.secret !== null
}

/**
 * Whether a code is correct and unused; of concurrent requests with the same code only one gets
 * true.
 */
async function useCode(
  { sealer, clock, keys }: Deps,
  sealed: string,
  code: string,
): Promise<boolean> {
  const secret = sealer.open(sealed)
  if (secret === null) throw new AuthRefusal(UNREADABLE, 'unavailable', { httpStatus: 503 })
  const step = stepOf(secret, code.replace(/\s/g, ''), clock.nowMs())
  if (step === null) return false
  const used = createHash('sha256').update(`${step} ${secret}`).digest('base64url')
  return keys.setOnce(`totp:${used}`, '1', 2 * ACCEPTED_MS)
}

/** Recovery codes are for users who have lost their authenticator; each is valid once. */
const RECOVERY_CODES = 10
/** Leaves out 0, o, 1, i and l, which are easily confused. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'
const GROUPS = 4
const GROUP_LETTERS = 4

/** `abcd-efgh-jkmn-pqrs`: 79 bits each. */
function newRecoveryCodes(): string[] {
  const letter = () => LETTERS.charAt(randomInt(LETTERS.length))
  const group = () => Array.from({ length: GROUP_LETTERS }, letter).join('')
  const code = () => Array.from({ length: GROUPS }, group).join('-')
  return Array.from({ length: RECOVERY_CODES }, code)
}

/** Hash to store. A slow hash is not needed: 79 random bits cannot be enumerated. */
function recoveryHash(code: string): string {
  const plain = code.toLowerCase().replace(/[\s-]/g, '')
  return createHash('sha256').update(plain).digest('hex')
}
