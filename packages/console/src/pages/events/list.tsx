/** The list of stored events, newest first, with a selection of those to send again. */
import { useState } from 'preact/hooks'
import type { Figure } from '../../api/figures.ts'
import { useRead } from '../../api/read.ts'
import { link, linkHere, location, navigateHere } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { numberColumn, textColumn, timeColumn } from '../../parts/columns.tsx'
import { textIn } from '../../parts/differences.ts'
import { type FilterField, FilterForm, NUMBER_INPUT } from '../../parts/filter.tsx'
import { List } from '../../parts/list.tsx'
import { formatNumber } from '../../parts/numbers.ts'
import { isoOf } from '../../parts/paging.ts'
import { useSelection } from '../../parts/selection.tsx'
import { type Column, usePageKeys } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import { readEvents, STATES, type StoredEvent } from './data.ts'
import { ResendDialog } from './resend.tsx'

export function EventList() {
  const { stamp, tab, ...query } = location.value.query
  const key = JSON.stringify(query)
  const reading = useRead(`events ${key}`, (signal) => readEvents(query, signal))
  const selection = useSelection<StoredEvent>(key, ({ stamp: each }) => each)
  const [resent, setResent] = useState<readonly StoredEvent[] | null>(null)
  usePageKeys()
  const select = selection.column('eventpage.selected', ({ stamp: each, event_code: code }) => {
    return t('eventpage.selectOne', { code, stamp: each })
  })
  return (
    <>
      <FilterForm label={t('eventpage.filter')} fields={filterFields()} />
      <List
        reading={reading}
        height={12}
        empty={t('eventpage.none')}
        above={(rows) => {
          const chosen = rows.filter(selection.has)
          const isAll = chosen.length === rows.length
          return (
            <div class="buttons">
              <button type="button" onClick={() => selection.toggleAll(rows)}>
                {t(isAll ? 'eventpage.selectNone' : 'eventpage.selectAll')}
              </button>
              <ActionButton
                action="events/resend"
                isDisabled={chosen.length === 0}
                onAct={() => setResent(chosen)}
              >
                {t('eventpage.resendSelected', { count: chosen.length })}
              </ActionButton>
            </div>
          )
        }}
        caption={t('eventpage.stored')}
        columns={[select, ...columns()]}
        keyOf={({ stamp: each }) => each}
        isCurrent={(event) => event.stamp === stamp}
        onOpen={(event) => navigateHere({ stamp: event.stamp })}
      />
      {resent !== null && (
        <ResendDialog
          events={resent}
          onSent={() => {
            selection.clear()
            reading.reload()
          }}
          onClose={() => setResent(null)}
        />
      )}
    </>
  )
}

function filterFields(): readonly FilterField[] {
  return [
    { name: 'code', label: t('eventpage.code') },
    {
      name: 'state',
      label: t('eventpage.state'),
      choices: STATES.map((value) => ({ value, label: t(`eventpage.${value}`) })),
    },
    { name: 'sid', label: t('eventpage.sid'), input: NUMBER_INPUT },
    { name: 'aid', label: t('eventpage.aid'), input: NUMBER_INPUT },
  ]
}

function columns(): Column<StoredEvent>[] {
  const inDelivery = (field: string) => (event: StoredEvent) => textIn(event.delivery ?? {}, field)
  const stateOf = inDelivery('state')
  return [
    timeColumn('eventpage.time', ({ creation_time: at }) => isoOf(at), 'second'),
    textColumn('eventpage.code', ({ event_code: code, stamp }) => (
      <a href={linkHere({ stamp })}>{code}</a>
    )),
    textColumn('eventpage.type', ({ event_type: type }) => type),
    textColumn('eventpage.customer', ({ extra_params: of = {} }) => customerLink(of)),
    numberColumn('eventpage.before', (event) => valueText(event['before'])),
    numberColumn('eventpage.after', (event) => valueText(event['after'])),
    textColumn('eventpage.state', (event) => stateText(stateOf(event))),
    numberColumn('eventpage.attempts', inDelivery('attempts')),
    textColumn('eventpage.error', inDelivery('error')),
  ]
}

export function stateText(state: string): string {
  const known = STATES.find((each) => each === state)
  return known === undefined ? state : t(`eventpage.${known}`)
}

function customerLink(of: Readonly<Record<string, unknown>>) {
  const sid = textIn(of, 'sid')
  const isAccount = sid === '' || sid === '0'
  const [kind, id] = isAccount ? ['aid', textIn(of, 'aid')] : ['sid', sid]
  return id === '' ? '–' : <a href={link(`customer/${kind}/${id}`)}>{`${kind} ${id}`}</a>
}

/** A value of a balance; of other conditions a text. */
function valueText(value: unknown): string {
  if (value === undefined || value === null) return '–'
  const isFigure = typeof value === 'number' || /^-?\d+(\.\d+)?$/.test(String(value))
  return isFigure ? formatNumber(value as Figure) : String(value)
}
