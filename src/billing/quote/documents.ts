/** Compiles the documents of a case for charging; missing fields have defaults. */
import type { CompileOptions, RawDocument } from '../../catalog/compile/document.ts'
import { compilePlan, compileService } from '../../catalog/compile/offer.ts'
import { compilePrepaidInclude } from '../../catalog/compile/prepaid-include.ts'
import {
  compileAccount,
  compileSubscriber,
  planStart,
  withAccount,
} from '../../catalog/compile/profile.ts'
import { compileRate } from '../../catalog/compile/rate.ts'
import { compileTax } from '../../catalog/compile/tax.ts'
import { withDates } from '../../catalog/dates.ts'
import { AccountEntity } from '../../catalog/entities/account.ts'
import { REVISION_DATES } from '../../catalog/entities/entity.ts'
import { SubscriberEntity } from '../../catalog/entities/subscriber.ts'
import { checkReferencedNames } from '../../catalog/revisions/references.ts'
import type {
  AccountProfile,
  Catalogue,
  Revision,
  SubscriberProfile,
} from '../../domain/catalogue.ts'
import { FieldError, type Fields, isUnset } from '../../domain/fields.ts'
import { type CatalogueKey, onlyKeys, type QuoteCase } from './case.ts'

/** Begin of documents without a `from`. */
const UNIX_EPOCH = new Date(0)

const SERVICE_KEYS = ['name', 'from', 'to', 'service_id', 'quantity', 'creation_time']
const OVERRIDE_KEYS = ['type', 'key', 'id', 'value', 'condition']

/** Throws `FieldError` with the path in the case. */
export function compileCatalogue(quote: QuoteCase, options: CompileOptions): Catalogue {
  const { timeZone } = quote.settings
  const compiled = <T extends Revision>(
    key: CatalogueKey,
    compile: (document: RawDocument, options: CompileOptions) => T,
    defaults: (document: Fields) => Fields = () => ({}),
  ) =>
    quote.catalogue[key].map((document, index) => {
      const path = `catalogue.${key}.${index}`
      const whole = { ...defaults(document), ...document }
      return inCase(path, () => compile(stored(whole, path, REVISION_DATES, timeZone), options))
    })
  const rates = compiled('rates', compileRate)
  const plans = compiled('plans', compilePlan, (plan) => planDefaults(quote, plan))
  const services = compiled('services', compileService)
  const taxes = compiled('taxes', compileTax)
  const includes = compiled('prepaidincludes', compilePrepaidInclude, includeDefaults)
  const catalogue = {
    revision: 1,
    rates: revisionsOf('rates', rates, ({ key }) => key),
    plans: revisionsOf('plans', plans, ({ name }) => name),
    services: revisionsOf('services', services, ({ name }) => name),
    taxes: revisionsOf('taxes', taxes, ({ key }) => key),
    prepaidIncludes: revisionsOf('prepaidincludes', includes, ({ externalId }) => externalId),
  }
  for (const key of ['plans', 'services'] as const) {
    for (const [index, document] of quote.catalogue[key].entries()) {
      if (quote.assumed?.has(document)) continue
      checkNames(key, document, `catalogue.${key}.${index}`, catalogue)
    }
  }
  return catalogue
}

/** Throws `FieldError` for a rate or service that is not in the case: it would apply to nothing. */
function checkNames(
  collection: 'plans' | 'services' | 'subscribers',
  document: Fields,
  path: string,
  { rates, services }: Catalogue,
): void {
  inCase(path, () => checkReferencedNames(collection, document, { rates, services }))
}

/** Subscribers with buckets are prepaid. */
function planDefaults({ subscribers }: QuoteCase, { name }: Fields): Fields {
  const isPrepaid = subscribers.some(
    ({ document, buckets }) => document['plan'] === name && buckets.length > 0,
  )
  return { connection_type: isPrepaid ? 'prepaid' : 'postpaid' }
}

function includeDefaults({ external_id: id, charging_by: kind }: Fields): Fields {
  const isOfOneType = kind === 'usagev' || kind === 'cost'
  const usaget = isOfOneType ? {} : { charging_by_usaget: 'total_cost' }
  return { name: `include ${id}`, priority: 0, ...usaget }
}

/** Throws `FieldError` if two revisions overlap: the effective one would be arbitrary. */
function revisionsOf<K, T extends Revision>(
  key: CatalogueKey,
  documents: readonly T[],
  keyOf: (document: T) => K,
): Map<K, T[]> {
  const found = new Map<K, T[]>()
  for (const [index, document] of documents.entries()) {
    const known = found.get(keyOf(document)) ?? []
    const isTwice = known.some(
      ({ fromMs, toMs }) => fromMs < document.toMs && document.fromMs < toMs,
    )
    if (isTwice) {
      const why = `overlaps another revision: ${String(keyOf(document))}`
      throw new FieldError(`catalogue.${key}.${index}`, why)
    }
    known.push(document)
    known.sort((a, b) => a.fromMs - b.fromMs)
    found.set(keyOf(document), known)
  }
  return found
}

/**
 * Profiles in the order of the case. Plans and services of subscribers and accounts must be in the
 * catalogue: a missing one would change the price. Throws `FieldError` with the path.
 */
export function compileProfiles(
  { account, subscribers, settings }: QuoteCase,
  catalogue: Catalogue,
  options: CompileOptions,
): SubscriberProfile[] {
  const { timeZone } = settings
  const aid = account?.['aid'] ?? subscribers[0]?.document['aid'] ?? 1
  const holder = account === null ? null : compileAccountProfile(account, aid, timeZone, options)
  if (account !== null) checkNames('subscribers', account, 'account', catalogue)
  const profiles = subscribers.map(({ path, document }, index) => {
    checkProductKeys(document, path)
    const whole = { type: 'subscriber', sid: index + 1, aid, ...document }
    const profile = inCase(path, () =>
      compileSubscriber(stored(whole, path, SubscriberEntity.dates, timeZone), options),
    )
    const { plan } = profile
    if (!catalogue.plans.has(plan)) {
      throw new FieldError(`${path}.plan`, `is not in catalogue.plans: ${plan}`)
    }
    checkNames('subscribers', document, path, catalogue)
    return withAccount(profile, profile.aid === holder?.aid ? holder : null)
  })
  for (const [index, { document }] of subscribers.entries()) {
    const profile = profiles[index] as SubscriberProfile
    if (!isUnset(document['plan_activation'])) continue
    const others = profiles.filter(({ sid }) => sid === profile.sid)
    profiles[index] = { ...profile, planFromMs: planStart(profile, others) }
  }
  if (holder !== null && profiles.every((profile) => profile.aid !== holder.aid)) {
    throw new FieldError('account.aid', `is not the account of any subscriber: ${holder.aid}`)
  }
  return profiles
}

/** Custom fields are allowed; other values are checked by the compilation. */
function checkProductKeys(document: Fields, path: string): void {
  const lists = { services: SERVICE_KEYS, overrides: OVERRIDE_KEYS }
  for (const [name, keys] of Object.entries(lists)) {
    const list = document[name]
    if (!Array.isArray(list)) continue
    for (const [index, entry] of list.entries()) {
      if (typeof entry === 'object' && entry !== null) {
        onlyKeys(entry as Fields, `${path}.${name}.${index}`, keys)
      }
    }
  }
}

function compileAccountProfile(
  account: Fields,
  aid: unknown,
  timeZone: string,
  options: CompileOptions,
): AccountProfile {
  checkProductKeys(account, 'account')
  const whole = { type: 'account', aid, ...account }
  return inCase('account', () =>
    compileAccount(stored(whole, 'account', AccountEntity.dates, timeZone), options),
  )
}

/** A document as the store would return it; its path in the case serves as id. */
function stored(
  document: Fields,
  path: string,
  dates: readonly string[],
  timeZone: string,
): RawDocument {
  const whole = withDates({ from: UNIX_EPOCH, ...document }, dates, timeZone)
  return { ...whole, _id: { toHexString: () => path }, rev: 0 } as unknown as RawDocument
}

/** Converts paths within a document to paths within the case. */
function inCase<T>(path: string, compile: () => T): T {
  try {
    return compile()
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    throw error.under(path)
  }
}
