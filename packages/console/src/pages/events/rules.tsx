/** Rules that make events: lists of the category `events`, each edited as JSON. */
import { useState } from 'preact/hooks'
import { useRead } from '../../api/read.ts'
import type { Fields } from '../../api/records.ts'
import { changeSetting, readSetting, type Setting } from '../../api/settings.ts'
import { link, location, setQuery } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { textColumn } from '../../parts/columns.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { textIn } from '../../parts/differences.ts'
import { announce } from '../../parts/live-region.tsx'
import { type Part, SettingEditor } from '../../parts/setting-editor.tsx'
import { ReadView } from '../../parts/state.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'

const KINDS = ['balance', 'money', 'fraud'] as const
type Kind = (typeof KINDS)[number]

interface Rule {
  readonly kind: Kind
  readonly index: number
  readonly document: Fields
}

/** A new rule, before it is edited. */
const TEMPLATES: Readonly<Record<Kind, Fields>> = {
  balance: {
    event_code: 'NEW_RULE',
    active: false,
    conditions: [
      { type: 'reached_percentage', value: '80', paths: [{ path: 'balance.groups.GROUP.usagev' }] },
    ],
  },
  money: { event_type: 'payment_completed', event_code: 'NEW_RULE', active: false },
  fraud: {
    event_code: 'NEW_RULE',
    active: false,
    recurrence: { type: 'minutely', value: 15 },
    date_range: { type: 'hourly', value: 1 },
    threshold_conditions: [[{ field: 'usagev', op: 'gt', value: 36_000 }]],
  },
}

function listIn(value: unknown, kind: Kind): readonly Fields[] {
  const list = ((value ?? {}) as Fields)[kind]
  return Array.isArray(list) ? list : []
}

/** The position of a rule in a list that others may have changed meanwhile; -1 if it is gone. */
function positionOf(list: readonly Fields[], document: Fields): number {
  const text = JSON.stringify(document)
  const same = list.findIndex((each) => JSON.stringify(each) === text)
  const { event_code: code } = document
  if (same >= 0 || code === undefined) return same
  return list.findIndex((each) => each['event_code'] === code)
}

function partOf(kind: Kind, document: Fields, isNew: boolean): Part {
  return {
    of: (value) => {
      const list = listIn(value, kind)
      return isNew ? document : (list[positionOf(list, document)] ?? document)
    },
    put(value, part) {
      const list = listIn(value, kind)
      const at = isNew ? -1 : positionOf(list, document)
      const data =
        at < 0 ? [...list, part] : list.map((each, index) => (index === at ? part : each))
      return { path: kind, data }
    },
  }
}

export function Rules() {
  const reading = useRead('event rules', (signal) => readSetting('events', { signal }))
  const named = location.value.query['rule'] ?? ''
  const saved = () => {
    announce(t('eventpage.saved'))
    setQuery({ rule: null })
    reading.reload()
  }
  return (
    <ReadView reading={reading} rows={8}>
      {(setting) => (
        <div class="stack">
          <p>
            {t('eventpage.rulesAbout')}{' '}
            <a href={link('settings', { category: 'events' })}>{t('eventpage.receivers')}</a>
          </p>
          <RuleList setting={setting} named={named} onChanged={saved} />
          <div class="buttons">
            {KINDS.map((kind) => (
              <ActionButton
                key={kind}
                action="settings/set"
                onAct={() => setQuery({ rule: `${kind}.new` })}
              >
                {t('eventpage.addRule', { kind: t(`eventpage.${kind}`) })}
              </ActionButton>
            ))}
          </div>
          <Chosen key={`${named} ${setting.rev}`} setting={setting} named={named} onSaved={saved} />
        </div>
      )}
    </ReadView>
  )
}

interface ListProps {
  readonly setting: Setting
  readonly named: string
  readonly onChanged: () => void
}

function RuleList({ setting, named, onChanged }: ListProps) {
  const [dialog, setDialog] = useState<{ rule: Rule; isRemoval: boolean } | null>(null)
  const rules = KINDS.flatMap((kind) =>
    listIn(setting.value, kind).map((document, index): Rule => ({ kind, index, document })),
  )
  if (rules.length === 0) return <p class="state">{t('eventpage.noRules')}</p>
  const change = async (rule: Rule, changed: readonly Fields[]) => {
    const all = listIn(setting.value, rule.kind).toSpliced(rule.index, 1, ...changed)
    const { rev } = setting
    await changeSetting({ action: 'set', category: 'events', path: rule.kind, data: all, rev })
    onChanged()
  }
  return (
    <>
      <Table
        caption={t('eventpage.rules')}
        columns={ruleColumns((rule, isRemoval) => setDialog({ rule, isRemoval }))}
        rows={rules}
        keyOf={nameOf}
        isCurrent={(rule) => nameOf(rule) === named}
        onOpen={(rule) => setQuery({ rule: nameOf(rule) })}
      />
      {dialog !== null && (
        <Confirm
          title={t(`eventpage.${dialogFor(dialog)}Title`, { code: codeOf(dialog.rule) })}
          about={t(`eventpage.${dialogFor(dialog)}About`)}
          act={t(`eventpage.${dialogFor(dialog)}`)}
          action="settings/set"
          onAct={() => {
            const { rule, isRemoval } = dialog
            const switched = { ...rule.document, active: !isActive(rule) }
            return change(rule, isRemoval ? [] : [switched])
          }}
          onClose={() => setDialog(null)}
        />
      )}
    </>
  )
}

const nameOf = ({ kind, index }: Rule) => `${kind}.${index}`
const isActive = ({ document }: Rule) => document['active'] !== false
const codeOf = ({ document }: Rule) =>
  textIn(document, 'event_code') || textIn(document, 'event_type')

function dialogFor({ rule, isRemoval }: { rule: Rule; isRemoval: boolean }) {
  if (isRemoval) return 'remove'
  return isActive(rule) ? 'disable' : 'enable'
}

function ruleColumns(ask: (rule: Rule, isRemoval: boolean) => void): Column<Rule>[] {
  return [
    textColumn('eventpage.code', (rule) => (
      <button type="button" class="plain" onClick={() => setQuery({ rule: nameOf(rule) })}>
        {codeOf(rule)}
      </button>
    )),
    textColumn('eventpage.kind', ({ kind }) => t(`eventpage.${kind}`)),
    textColumn('eventpage.description', ({ document }) => textIn(document, 'event_description')),
    textColumn('eventpage.conditions', ({ document }) => (
      <span class="id">
        {textIn(document, 'conditions') || textIn(document, 'event_type')}
        {textIn(document, 'threshold_conditions')}
      </span>
    )),
    textColumn('eventpage.action', ({ document }) => textIn(document, 'action')),
    textColumn('eventpage.active', (rule) => (
      <ActionButton action="settings/set" isBrief onAct={() => ask(rule, false)}>
        {t(isActive(rule) ? 'eventpage.disable' : 'eventpage.enable')}
      </ActionButton>
    )),
    textColumn('eventpage.removal', (rule) => (
      <ActionButton action="settings/set" kind="danger" isBrief onAct={() => ask(rule, true)}>
        {t('eventpage.remove')}
      </ActionButton>
    )),
  ]
}

interface ChosenProps {
  readonly setting: Setting
  readonly named: string
  readonly onSaved: () => void
}

/** The editor of the rule that the address names: `balance.0`, `money.new`. */
function Chosen({ setting, named, onSaved }: ChosenProps) {
  const [group, position] = named.split('.')
  const kind = KINDS.find((each) => each === group)
  if (kind === undefined) return null
  const isNew = position === 'new'
  const document = isNew ? TEMPLATES[kind] : listIn(setting.value, kind)[Number(position)]
  if (document === undefined) return <p class="state">{t('eventpage.noRule', { named })}</p>
  return (
    <section class="stack" aria-labelledby="rule">
      <h2 id="rule">{t('eventpage.rule', { kind: t(`eventpage.${kind}`) })}</h2>
      <SettingEditor
        category="events"
        setting={setting}
        label={t('eventpage.ruleJson')}
        part={partOf(kind, document, isNew)}
        onSaved={onSaved}
      />
    </section>
  )
}
