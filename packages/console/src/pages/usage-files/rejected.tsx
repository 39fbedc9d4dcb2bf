/** The queue of rejected records, with a selection of those to submit again or to drop. */
import { useState } from 'preact/hooks'
import { linkHere, location, navigateHere } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { numberColumn, textColumn, timeColumn } from '../../parts/columns.tsx'
import { type FilterField, FilterForm } from '../../parts/filter.tsx'
import { List, useList } from '../../parts/list.tsx'
import { formatNumber } from '../../parts/numbers.ts'
import { isoOf } from '../../parts/paging.ts'
import { useSelection } from '../../parts/selection.tsx'
import { type Column, usePageKeys } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import {
  canHandle,
  type Handling,
  OTHER_STATES,
  problemOf,
  type RejectedRecord,
  readRejected,
} from './data.ts'
import { HandleDialog } from './handle.tsx'
import { RecordDetails } from './record.tsx'

const HANDLINGS = ['resubmit', 'drop'] as const

interface Chosen {
  readonly how: Handling
  readonly records: readonly RejectedRecord[]
}

export function Rejected() {
  const { record, tab, after: _, ...query } = location.value.query
  const key = JSON.stringify(query)
  const isFiltered = Object.keys(query).length > 0
  const reading = useList(`rejected ${key}`, (after, signal) => {
    return readRejected(query, after, signal)
  })
  const selection = useSelection<RejectedRecord>(linkHere({ record: null }), ({ id }) => id)
  const [chosen, setChosen] = useState<Chosen | null>(null)
  const [done, setDone] = useState<string | null>(null)
  usePageKeys()
  const select = selection.column('usagefiles.selected', ({ file_name: name, line }) => {
    return t('usagefiles.selectOne', { name, line: formatNumber(line) })
  })
  return (
    <>
      <FilterForm label={t('usagefiles.rejectedFilter')} fields={filterFields()} />
      {done !== null && <p class="mark">{done}</p>}
      <List
        reading={reading}
        height={12}
        empty={t(isFiltered ? 'usagefiles.noRejected' : 'usagefiles.noneWaiting')}
        above={(rows) => {
          const records = rows.filter(selection.has)
          const isAll = records.length === rows.length
          return (
            <div class="buttons">
              <button type="button" onClick={() => selection.toggleAll(rows)}>
                {t(isAll ? 'usagefiles.selectNone' : 'usagefiles.selectAll')}
              </button>
              {HANDLINGS.map((how) => {
                const able = records.filter((one) => canHandle(how, one))
                return (
                  <ActionButton
                    key={how}
                    action={`api/lines${how}`}
                    isDisabled={able.length === 0}
                    onAct={() => setChosen({ how, records: able })}
                  >
                    {t(`usagefiles.${how}Selected`, { count: able.length })}
                  </ActionButton>
                )
              })}
            </div>
          )
        }}
        caption={t('usagefiles.rejectedList')}
        columns={[select, ...columns()]}
        keyOf={({ id }) => id}
        isCurrent={({ id }) => id === record}
        onOpen={({ id }) => navigateHere({ record: id })}
      />
      {record !== undefined && (
        <RecordDetails key={record} id={record} onChanged={reading.reload} />
      )}
      {chosen !== null && (
        <HandleDialog
          {...chosen}
          onChanged={reading.reload}
          onDone={(text) => {
            setDone(text)
            selection.clear()
          }}
          onClose={() => setChosen(null)}
        />
      )}
    </>
  )
}

const filterFields = (): readonly FilterField[] => [
  { name: 'file', label: t('usagefiles.id') },
  { name: 'type', label: t('usagefiles.type') },
  { name: 'reason', label: t('usagefiles.reason') },
  {
    name: 'state',
    label: t('usagefiles.state'),
    usual: t('usagefiles.waiting'),
    choices: OTHER_STATES.map((value) => ({ value, label: t(`usagefiles.${value}`) })),
  },
]

const columns = (): Column<RejectedRecord>[] => [
  textColumn('usagefiles.record', ({ id, text }) => (
    <a href={linkHere({ record: id })} class="id">
      {excerpt(text)}
    </a>
  )),
  textColumn('usagefiles.reason', (row) => (
    <a href={linkHere({ reason: row.reason, after: null })}>{problemOf(row)}</a>
  )),
  textColumn('usagefiles.name', ({ file, file_name: name }) => (
    <a href={linkHere({ file, after: null })}>{name}</a>
  )),
  numberColumn('usagefiles.line', ({ line }) => formatNumber(line)),
  textColumn('usagefiles.type', ({ file_type: type }) => type),
  textColumn('usagefiles.state', ({ state }) => t(`usagefiles.${state}`)),
  timeColumn('usagefiles.created', ({ created }) => isoOf(created), 'second'),
]

const EXCERPT_CHARS = 80

function excerpt(text: string): string {
  return text.length > EXCERPT_CHARS ? `${text.slice(0, EXCERPT_CHARS)}…` : text
}
