/** Rules for subscribers: what they refer to must exist, and what follows from their changes. */
import type { RawDocument } from '../../catalog/compile/document.ts'
import { NOT_DELETED } from '../../catalog/revisions/validity.ts'
import { isUnset, wholeAt } from '../../domain/fields.ts'
import { DISPLAY, EntityRuleError, fieldRule } from '../../requests/errors.ts'
import { dateText } from '../timeline/dates.ts'
import { fromOf } from '../timeline/draft.ts'
import type { FieldChanges } from '../timeline/set-fields.ts'
import { deriveSubscriber, withServiceEdges } from '../timeline/subscriber-dates.ts'
import { checkAll } from '../trial.ts'
import { withEarlierAccountStart } from './account-start.ts'
import { cachedRead, exists, offerAt } from './lookups.ts'
import { confirmedUntilMs } from './minimum-date.ts'
import { checkOverrides } from './overrides.ts'
import { planChangeWarnings } from './plan-change.ts'
import { checkOffered, playOf, readPlays } from './plays.ts'
import type { CollectionRules, RuleContext, RuleSettings } from './rule.ts'
import { prepareServices } from './service-entries.ts'
import { accountTransfer, earlyPayment } from './subscriber-follow-ups.ts'
import { asRule, fieldsOf, instantAt, isChanged, listOf } from './values.ts'

export function subscriberRules({ config }: RuleSettings): CollectionRules {
  return {
    async prepare(changes, target, context) {
      const isNew = target === null
      const completed = isNew ? await withDefaults(changes, context) : changes
      return prepareServices(completed, target, context, 'subscriber')
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

    async newEntityCheck(documents, { catalog, zone }) {
      const aids = new Set(documents.map(({ aid }) => Number(aid)))
      const untilMs = await confirmedUntilMs(catalog, [...aids], config)
      return (document) => checkNotInvoiced(document, untilMs, zone)
    },

    derive: deriveSubscriber,
    withRelated: withEarlierAccountStart,
    followUp: (draft, context) =>
      accountTransfer(draft, context) ?? earlyPayment(draft, context, config.billing),
    changeWarnings: planChangeWarnings,
    withMovedEdge: withServiceEdges,
  }
}

/**
 * A subscriber cannot begin in a time whose invoice is confirmed: it would never be charged.
 * `untilMs`: end of the confirmed invoices by account. Throws `EntityRuleError`.
 */
function checkNotInvoiced(
  subscriber: RawDocument,
  untilMs: ReadonlyMap<unknown, number>,
  zone: string,
): void {
  const { aid } = subscriber
  const invoicedMs = untilMs.get(aid) ?? 0
  if (fromOf(subscriber) >= invoicedMs) return
  const date = dateText(invoicedMs, zone)
  const text = `create: from must not be before ${date}, until which account ${aid} is invoiced`
  throw new EntityRuleError(text, { path: 'from' }, DISPLAY.date)
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
  throw fieldRule('plan:', `there is no plan ${plan} at ${date}`)
}

async function checkAccount({ aid }: RawDocument, context: RuleContext): Promise<void> {
  const accountExists = await cachedRead(context, `accounts/${aid}`, () =>
    exists(context, 'subscribers', { type: 'account', aid, ...NOT_DELETED }),
  )
  if (!accountExists) throw fieldRule('aid:', `there is no account ${aid}`)
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
