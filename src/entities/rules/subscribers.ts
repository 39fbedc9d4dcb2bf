/** Rules for subscribers: the entities that they refer to must exist. */
import type { RawDocument } from '../../catalog/compile/document.ts'
import { NOT_DELETED } from '../../catalog/revisions/validity.ts'
import { isUnset, wholeAt } from '../../domain/fields.ts'
import { fieldRule } from '../../requests/errors.ts'
import { dateText } from '../timeline/dates.ts'
import { fromOf } from '../timeline/draft.ts'
import type { FieldChanges } from '../timeline/set-fields.ts'
import { checkAll } from '../trial.ts'
import { cachedRead, exists, offerAt } from './lookups.ts'
import { checkOverrides } from './overrides.ts'
import { checkOffered, playOf, readPlays } from './plays.ts'
import type { CollectionRules, RuleContext } from './rule.ts'
import { prepareServices } from './service-entries.ts'
import { asRule, fieldsOf, instantAt, isChanged, listOf } from './values.ts'

export const SUBSCRIBER_RULES: CollectionRules = {
  async prepare(changes, target, context) {
    const isNew = target === null
    const given = isNew ? await withDefaults(changes, context) : changes
    return prepareServices(given, target, context, 'subscriber')
  },

  async check(document, stored, context) {
    const isNew = (...names: string[]) => isChanged(document, stored, ...names)
    await checkAll([
      () => asRule(() => wholeAt(document['sid'], 'sid', 1)),
      () => asRule(() => wholeAt(document['aid'], 'aid', 1)),
      () => isNew('plan', 'from') && checkPlan(document, context),
      () => isNew('aid') && checkAccount(document, context),
      () => isNew('plan', 'play', 'services') && checkPlays(document, context),
      () => checkOverrides(document, stored),
    ])
  },
}

/** Clients expect the list of services even if it is empty. */
async function withDefaults(changes: FieldChanges, context: RuleContext): Promise<FieldChanges> {
  const set = { services: [], ...changes.set }
  const plays = isUnset(changes.set['play']) ? await readPlays(context) : null
  return { ...changes, set: plays === null ? set : { ...set, play: playOf({}, plays) } }
}

async function checkPlan(document: RawDocument, context: RuleContext): Promise<void> {
  const { plan } = document
  // Other types are refused when the document is compiled.
  if (typeof plan !== 'string') return
  if ((await offerAt(context, 'plans', plan, fromOf(document))) !== undefined) return
  const date = dateText(fromOf(document), context.zone)
  throw fieldRule('plan', `plan: there is no plan ${plan} at ${date}`)
}

async function checkAccount({ aid }: RawDocument, context: RuleContext): Promise<void> {
  const accountExists = await cachedRead(context, `accounts/${aid}`, () =>
    exists(context, 'subscribers', { type: 'account', aid, ...NOT_DELETED }),
  )
  if (!accountExists) throw fieldRule('aid', `aid: there is no account ${aid}`)
}

async function checkPlays(document: RawDocument, context: RuleContext): Promise<void> {
  const plays = await readPlays(context)
  if (plays === null) return
  const play = playOf(document, plays)
  const plan = String(document['plan'])
  checkOffered(`plan ${plan}`, await offerAt(context, 'plans', plan, fromOf(document)), play)
  for (const entry of listOf(document['services'])) {
    const name = typeof entry === 'string' ? entry : String(fieldsOf(entry)['name'])
    const from = fieldsOf(entry)['from']
    const atMs = instantAt(from, 'services.from', context) ?? fromOf(document)
    checkOffered(`service ${name}`, await offerAt(context, 'services', name, atMs), play)
  }
}
