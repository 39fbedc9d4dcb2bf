/** The list of stored events, newest first, with a selection of those to send again. */
import { useEffect, useState } from 'preact/hooks'
import type { Figure } from '../../api/figures.ts'
import { useRead } from '../../api/read.ts'
import { link, linkHere, location, navigateHere } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { textIn } from '../../parts/differences.ts'
import { type FilterField, FilterForm, NUMBER_INPUT } from '../../parts/filter.tsx'
import { formatNumber } from '../../parts/numbers.ts'
import { isoOf } from '../../parts/paging.ts'
import { ReadView } from '../../parts/state.tsx'
import { type Column, Pager, pageKey, Table, usePageKeys } from '../../parts/table.tsx'
import { Time, timeHeader } from '../../parts/time.tsx'
import { t } from '../../words/words.ts'
import { readEvents, STATES, type StoredEvent } from './data.ts'
import { ResendDialog } from './resend.tsx'

const stampOf = ({ stamp }: StoredEvent) => stamp

export function EventList() {
  const { stamp, tab, ...query } = location.value.query
  const key = JSON.stringify(query)
  const reading = useRead(`events ${key}`, (signal) => readEvents(query, signal))
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [isDialogOpen, setDialogOpen] = useState(false)
  usePageKeys()
  useEffect(() => setSelected(new Set()), [key])
  const toggle = (one: string) => {
    const others = [...selected].filter((each) => each !== one)
    setSelected(new Set(selected.has(one) ? others : [...others, one]))
  }
  const resent = () => {
    setSelected(new Set())
    reading.reload()
  }
  return (
    <>
      <FilterForm label={t('eventpage.filter')} fields={filterFields()} />
      <ReadView
        reading={reading}
        rows={12}
        isEmpty={({ rows }) => rows.length === 0 && pageKey() === null}
        empty={t('eventpage.none')}
      >
        {({ rows, next }) => {
          const chosen = rows.filter((each) => selected.has(each.stamp))
          const isAll = chosen.length === rows.length
          return (
            <div class="stack">
              <div class="buttons">
                <button
                  type="button"
                  onClick={() => setSelected(new Set(isAll ? [] : rows.map(stampOf)))}
                >
                  {t(isAll ? 'eventpage.selectNone' : 'eventpage.selectAll')}
                </button>
                <ActionButton
                  action="events/resend"
                  isDisabled={chosen.length === 0}
                  onAct={() => setDialogOpen(true)}
                >
                  {t('eventpage.resendSelected', { count: chosen.length })}
                </ActionButton>
              </div>
              <Table
                caption={t('eventpage.stored')}
                columns={columnsOf(selected, toggle)}
                rows={rows}
                keyOf={stampOf}
                isCurrent={(event) => event.stamp === stamp}
                onOpen={(event) => {
                  navigateHere({ stamp: event.stamp })
                }}
              />
              <Pager next={next} />
              {isDialogOpen && (
                <ResendDialog
                  events={chosen}
                  onSent={resent}
                  onClose={() => setDialogOpen(false)}
                />
              )}
            </div>
          )
        }}
      </ReadView>
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

function columnsOf(
  selected: ReadonlySet<string>,
  toggle: (stamp: string) => void,
): Column<StoredEvent>[] {
  const inDelivery = (field: string) => (event: StoredEvent) => textIn(event.delivery ?? {}, field)
  return [
    {
      title: t('eventpage.selected'),
      cell: ({ stamp, event_code: code }) => (
        <input
          type="checkbox"
          checked={selected.has(stamp)}
          aria-label={t('eventpage.selectOne', { code, stamp })}
          onChange={() => toggle(stamp)}
        />
      ),
    },
    {
      title: timeHeader(t('eventpage.time')),
      cell: ({ creation_time: at }) => <Time value={isoOf(at)} precision="second" />,
    },
    {
      title: t('eventpage.code'),
      cell: ({ event_code: code, stamp }) => <a href={linkHere({ stamp })}>{code}</a>,
    },
    { title: t('eventpage.type'), cell: ({ event_type: type }) => type },
    { title: t('eventpage.customer'), cell: ({ extra_params: of = {} }) => customerLink(of) },
    { title: t('eventpage.before'), isNumber: true, cell: (event) => valueText(event['before']) },
    { title: t('eventpage.after'), isNumber: true, cell: (event) => valueText(event['after']) },
    { title: t('eventpage.state'), cell: (event) => stateText(inDelivery('state')(event)) },
    { title: t('eventpage.attempts'), isNumber: true, cell: inDelivery('attempts') },
    { title: t('eventpage.error'), cell: inDelivery('error') },
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
