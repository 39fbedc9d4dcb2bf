/** One entity of the catalogue: its revisions, terms, differences, and who uses it. */
import { useState } from 'preact/hooks'
import { useRead } from '../../api/read.ts'
import { type Fields, type Identified, readNewest } from '../../api/records.ts'
import { hasAction } from '../../api/session.ts'
import { useShortcuts } from '../../frame/keys.ts'
import { link, location, setQuery } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { AuditEntries } from '../../parts/audit-entries.tsx'
import { textIn } from '../../parts/differences.ts'
import { DocumentEditor } from '../../parts/document/editor.tsx'
import { readSchemas } from '../../parts/document/schemas.ts'
import { useList } from '../../parts/list.tsx'
import {
  infoOf,
  isBeginChangeable,
  isEditable,
  type Revision,
  type RevisionView,
  revisionViews,
} from '../../parts/revisions.ts'
import { missingText } from '../../parts/rights.ts'
import { ReadView } from '../../parts/state.tsx'
import { Tabs, tabOf } from '../../parts/tabs.tsx'
import { formatPeriod, precisionOf, type TimePrecision } from '../../parts/time.tsx'
import { Timeline } from '../../parts/timeline.tsx'
import { t } from '../../words/words.ts'
import { Compare } from './compare.tsx'
import { type Collection, readRevisions } from './data.ts'
import { DateDialog, type DatedAction } from './date-dialog.tsx'
import { EditRevision } from './edit.tsx'
import { HIDDEN, plotOf, schemaOf } from './editing.tsx'
import { UsedBy } from './used-by.tsx'

interface EntityProps {
  readonly collection: Collection
  /** Its key. */
  readonly value: string
}

export function Entity({ collection, value }: EntityProps) {
  const { name } = collection
  const reading = useRead('revisions', (signal) => readRevisions(collection, value, signal))
  const changed = (id: string | null) => {
    setQuery({ rev: id, tab: null })
    reading.reload()
  }
  return (
    <>
      <div class="title">
        <h1 tabIndex={-1}>{value}</h1>
        <a href={link(`catalogue/${name}`)}>{t(`catalogue.${name}` as 'catalogue.plans')}</a>
      </div>
      <ReadView reading={reading} rows={12} empty={t('catalogue.unknown')}>
        {(revisions) => (
          <Revisions collection={collection} revisions={revisions} onChanged={changed} />
        )}
      </ReadView>
    </>
  )
}

interface RevisionsProps {
  readonly collection: Collection
  /** Ordered by `from`; at least one. */
  readonly revisions: readonly Revision[]
  /** With the id of the revision to show; null for the present one. */
  readonly onChanged: (id: string | null) => void
}

/** With whether it changes the begin. */
const DATED_ACTIONS = [
  ['move', true],
  ['close', false],
  ['reopen', false],
  ['delete', true],
] as const satisfies readonly (readonly [DatedAction, boolean])[]

const TABS = ['terms', 'difference', 'used', 'audit'] as const

function Revisions({ collection, revisions, onChanged }: RevisionsProps) {
  const [isEditing, setEditing] = useState(false)
  const [action, setAction] = useState<DatedAction | null>(null)
  const selected = selectedRevision(revisions)
  const tab = tabOf(TABS)
  const { name } = collection
  const edit = () => {
    if (isEditable(selected) && missingText(`${name}/update`) === null) setEditing(true)
  }
  useShortcuts([{ keys: 'e', title: 'catalogue.edit', run: edit }])
  const precision = precisionOf(revisions)
  const done = (id: string | null) => {
    setEditing(false)
    onChanged(id)
  }
  return (
    <>
      <Timeline
        label={t('catalogue.revisions')}
        entries={revisionViews(revisions).map((view) => entryOf(view, selected, precision))}
        onChoose={(id) => !isEditing && setQuery({ rev: id })}
      />
      {isEditing ? (
        <Schemas>
          {(schemas) => (
            <EditRevision
              collection={collection}
              schemas={schemas}
              revision={selected}
              onSaved={done}
              onClose={() => setEditing(false)}
            />
          )}
        </Schemas>
      ) : (
        <>
          <Actions collection={collection} revision={selected} onEdit={edit} onAct={setAction} />
          <Tabs
            label={t('catalogue.views')}
            tabs={TABS.map((each) => ({ name: each, title: t(`catalogue.tab.${each}`) }))}
          />
          {tab === 'terms' && <Terms collection={collection} revision={selected} />}
          {tab === 'difference' && <Compare revisions={revisions} selected={selected} />}
          {tab === 'used' && <UsedBy collection={collection} revision={selected} />}
          {tab === 'audit' && <Audit collection={name} value={textIn(selected, collection.key)} />}
        </>
      )}
      {action !== null && (
        <DateDialog
          action={action}
          collection={collection}
          revision={selected}
          onDone={onChanged}
          onClose={() => setAction(null)}
        />
      )}
    </>
  )
}

interface ActionsProps {
  readonly collection: Collection
  readonly revision: Revision
  readonly onEdit: () => void
  readonly onAct: (action: DatedAction) => void
}

function Actions({ collection: { name }, revision, onEdit, onAct }: ActionsProps) {
  return (
    <div class="buttons">
      <ActionButton
        action={`${name}/update`}
        kind="main"
        reason={isEditable(revision) ? null : t('catalogue.endConfirmed')}
        onAct={onEdit}
      >
        {t('catalogue.edit')}
      </ActionButton>
      {DATED_ACTIONS.filter(([each]) => hasAction(`${name}/${each}`)).map(([each, isOfBegin]) => (
        <ActionButton
          key={each}
          action={`${name}/${each}`}
          isBrief
          reason={isOfBegin && !isBeginChangeable(revision) ? t('catalogue.beginConfirmed') : null}
          onAct={() => onAct(each)}
        >
          {t(`catalogue.${each}`)}
        </ActionButton>
      ))}
    </div>
  )
}

/** The revision of the address, otherwise the present one, or the last. */
function selectedRevision(revisions: readonly Revision[]): Revision {
  const requested = location.value.query['rev']
  const isActive = (revision: Revision) => infoOf(revision)['status'] === 'active'
  const found = revisions.find(({ _id }) => _id.$id === requested) ?? revisions.find(isActive)
  return found ?? (revisions.at(-1) as Revision)
}

function entryOf(view: RevisionView, selected: Revision, precision: TimePrecision) {
  const { id, changed, isAfterGap } = view
  const text = changed.length === 0 ? '' : t('catalogue.changed', { fields: changed.join(', ') })
  const period = formatPeriod(view, precision)
  return { key: id, period, text, isAfterGap, isCurrent: id === selected._id.$id }
}

function Schemas(props: {
  readonly children: (schemas: Awaited<ReturnType<typeof readSchemas>>) => preact.ComponentChildren
}) {
  const reading = useRead('schemas', readSchemas)
  return (
    <ReadView reading={reading} rows={8}>
      {props.children}
    </ReadView>
  )
}

interface TermsProps {
  readonly collection: Collection
  readonly revision: Revision
}

function Terms({ collection, revision }: TermsProps) {
  return (
    <Schemas>
      {(schemas) => (
        <DocumentEditor
          schemas={schemas}
          schema={schemaOf(schemas, collection)}
          document={revision}
          hidden={HIDDEN}
          besideTiers={plotOf(revision, null)}
        />
      )}
    </Schemas>
  )
}

function Audit({ collection, value }: { readonly collection: string; readonly value: string }) {
  const reading = useList('audit', (after, signal) => {
    const query = { collection, key: value }
    return readNewest<Fields & Identified>('audit', { query, after }, signal)
  })
  return <AuditEntries reading={reading} />
}
