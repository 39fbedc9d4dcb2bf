/** Profiles of subscribers that the customer system keeps, for the price of their usage. */
import type { CompileOptions } from '../../catalog/compile/document.ts'
import {
  compileAccountFields,
  compileSubscriberFields,
  withAccount,
} from '../../catalog/compile/profile.ts'
import type { Revision, SubscriberProfile } from '../../domain/catalogue.ts'
import { FieldError, type Fields } from '../../domain/fields.ts'
import type { CustomerLookup } from '../customer-lookup.ts'

/**
 * The profile of a subscriber with its account; null if there is no valid one at that instant, and
 * undefined if MongoDB has it. Rejects with `CustomerSystemError`.
 */
export async function customerProfile(
  lookup: CustomerLookup,
  sid: number,
  atMs: number,
  options: CompileOptions,
): Promise<SubscriberProfile | null | undefined> {
  const fields = (await lookup.subscribers([sid], atMs))?.get(sid)
  if (fields === undefined) return (await lookup.subscribers([], atMs)) === null ? undefined : null
  try {
    const profile = compileSubscriberFields(fields, () => revisionIn(fields), options)
    const account = (await lookup.accounts([profile.aid], atMs))?.get(profile.aid)
    if (account === undefined) return profile
    return withAccount(
      profile,
      compileAccountFields(account, () => revisionIn(account), options),
    )
  } catch (error) {
    if (error instanceof FieldError) return null
    throw error
  }
}

function revisionIn(fields: Fields): Revision {
  const { aid, sid = 0, from, to } = fields as Fields & { from: Date; to: Date }
  return { id: `${String(aid)}.${String(sid)}`, fromMs: from.getTime(), toMs: to.getTime() }
}
