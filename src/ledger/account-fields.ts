/** Lists what the ledger has of an account, for all that is not charging. */
import { StoreDownError } from '../store/redis.ts'
import type { Ledger } from './ledger.ts'
import { CorruptValueError } from './owner-packing.ts'

export interface AccountFields {
  /** Owners with a state, without 0 (the account itself). */
  sids: number[]
  /** Session keys by subscriber, open and closed. */
  sessionKeys: Map<number, string[]>
}

const STATE = /^s:(\d+)$/
const SESSION = /^(\d+):([\w-]{22})$/

/**
 * One result per account, in order; an account that cannot be read is reported in its position.
 * Throws `StoreDownError`.
 */
export function readAccountFields(
  { redis, keys }: Pick<Ledger, 'redis' | 'keys'>,
  aids: readonly number[],
): Promise<(AccountFields | CorruptValueError)[]> {
  const read = async (aid: number) => {
    try {
      return fieldsOf(await redis.guard(redis.client.hkeys(keys.account(aid))))
    } catch (error) {
      if (error instanceof StoreDownError) throw error
      return new CorruptValueError('an account cannot be read', { aid, cause: error })
    }
  }
  return Promise.all(aids.map(read))
}

function fieldsOf(names: readonly string[]): AccountFields {
  const found: AccountFields = { sids: [], sessionKeys: new Map() }
  for (const name of names) {
    const sid = Number(STATE.exec(name)?.[1] ?? 0)
    if (sid !== 0) found.sids.push(sid)
    const session = SESSION.exec(name)
    if (session === null) continue
    const [owner, sessionKey = ''] = [Number(session[1]), session[2]]
    const sessionKeys = found.sessionKeys.get(owner) ?? []
    sessionKeys.push(sessionKey)
    found.sessionKeys.set(owner, sessionKeys)
  }
  return found
}
