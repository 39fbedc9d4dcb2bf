/** Second factors of users, as they are stored (collection `secondfactors`). */
import { createHash } from 'node:crypto'
import type { Sealer } from '../../../catalog/sealing.ts'
import type { SecondFactorDocument } from '../../../catalog/second-factor.ts'
import type { AuthDeps } from '../auth-deps.ts'
import { AuthRefusal } from '../refusal.ts'
import { ACCEPTED_MS, newSecret, stepOf } from './codes.ts'
import { newRecoveryCodes, recoveryHash } from './recovery-codes.ts'

export interface FactorState {
  readonly isEnrolled: boolean
  readonly enrolledMs: number | null
  readonly recoveryCodesLeft: number
}

/** How a user has proved the second factor. */
export type Proof = 'code' | { readonly recoveryCodesLeft: number }

/** `id`: what sessions know the user by. Each rejects where a store is away. */
export interface SecondFactors {
  state(id: string): Promise<FactorState>
  /** A new secret, which is the factor once `confirm` was called with a code of it. */
  begin(id: string, username: string): Promise<string>
  /** Gives the recovery codes; null: the code is wrong. Rejects with `AuthRefusal` before `begin`. */
  confirm(id: string, code: string): Promise<readonly string[] | null>
  /** Uses a code or a recovery code up; null: it is wrong, or was used before. */
  prove(id: string, code: string): Promise<Proof | null>
  /** Others, in the place of those that there are. */
  renewRecoveryCodes(id: string): Promise<readonly string[]>
  /** Of users of that name, here and in directories. */
  idsOf(username: string): Promise<readonly string[]>
  /** False: there was none. */
  remove(id: string): Promise<boolean>
}

type Deps = Pick<AuthDeps, 'catalog' | 'keys' | 'clock'> & { readonly sealer: Sealer }

const UNREADABLE = 'the second factor cannot be checked: its key is not known to this process'

export function createSecondFactors(deps: Deps): SecondFactors {
  const { catalog, clock, sealer } = deps
  const { secondfactors } = catalog
  const find = (id: string) =>
    catalog.run('find a second factor', () => secondfactors.findOne({ _id: id }))
  const set = (id: string, fields: Partial<SecondFactorDocument>, more: object = {}) =>
    catalog.run('write a second factor', () =>
      secondfactors.updateOne({ _id: id, ...more }, { $set: fields }),
    )
  return {
    async state(id) {
      const found = await find(id)
      return {
        isEnrolled: isEnrolled(found),
        enrolledMs: found?.enrolled_at?.getTime() ?? null,
        recoveryCodesLeft: found?.recovery.length ?? 0,
      }
    },

    async begin(id, username) {
      const secret = newSecret()
      const first = { secret: null, enrolled_at: null, recovery: [] }
      const pending = sealer.seal(secret)
      await catalog.run('begin a second factor', () =>
        secondfactors.updateOne(
          { _id: id },
          { $set: { username, pending }, $setOnInsert: first },
          { upsert: true },
        ),
      )
      return secret
    },

    async confirm(id, code) {
      const found = await find(id)
      const pending = found?.pending ?? null
      if (pending === null) throw new AuthRefusal('begin first: POST /auth/totp/begin')
      if (!(await useCode(deps, pending, code))) return null
      const codes = newRecoveryCodes()
      const recovery = codes.map(recoveryHash)
      const enrolled_at = new Date(clock.nowMs())
      const fields = { secret: pending, pending: null, enrolled_at, recovery }
      // Another enrolment may have begun since.
      const { matchedCount } = await set(id, fields, { pending })
      return matchedCount === 1 ? codes : null
    },

    async prove(id, code) {
      const found = await find(id)
      if (found === null || found.secret === null) return null
      if (await useCode(deps, found.secret, code)) return 'code'
      const hash = recoveryHash(code)
      if (!found.recovery.includes(hash)) return null
      const used = await catalog.run('use a recovery code', () =>
        secondfactors.findOneAndUpdate(
          { _id: id, recovery: hash },
          { $pull: { recovery: hash } },
          { returnDocument: 'after' },
        ),
      )
      return used === null ? null : { recoveryCodesLeft: used.recovery.length }
    },

    async renewRecoveryCodes(id) {
      const codes = newRecoveryCodes()
      await set(id, { recovery: codes.map(recoveryHash) })
      return codes
    },

    async idsOf(username) {
      const found = await catalog.run('find second factors', () =>
        secondfactors.find({ username }, { projection: { _id: 1 } }).toArray(),
      )
      return found.map(({ _id: id }) => id)
    },

    async remove(id) {
      const { deletedCount } = await catalog.run('remove a second factor', () =>
        secondfactors.deleteOne({ _id: id }),
      )
      return deletedCount === 1
    },
  }
}

export function isEnrolled(found: Pick<SecondFactorDocument, 'secret'> | null): boolean {
  return found !== null && found.secret !== null
}

/** Whether a code is right and was not used before; of several requests with it one gets true. */
async function useCode(
  { sealer, clock, keys }: Deps,
  sealed: string,
  code: string,
): Promise<boolean> {
  const secret = sealer.open(sealed)
  if (secret === null) throw new AuthRefusal(UNREADABLE, { httpStatus: 503 })
  const step = stepOf(secret, code.replace(/\s/g, ''), clock.nowMs())
  if (step === null) return false
  const used = createHash('sha256').update(`${step} ${secret}`).digest('base64url')
  return keys.setOnce(`totp:${used}`, '1', 2 * ACCEPTED_MS)
}
