/** Catalogue: the entities of a collection. */
import './catalogue.css'
import { useState } from 'preact/hooks'
import { link, location, navigate, navigateHere, type PageProps } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { leafText, textIn } from '../../parts/differences.ts'
import { Field } from '../../parts/field.tsx'
import { List, useList } from '../../parts/list.tsx'
import type { Revision } from '../../parts/revisions.ts'
import '../../parts/tabs.css'
import type { Column } from '../../parts/table.tsx'
import { Time, timeHeader } from '../../parts/time.tsx'
import { CATALOGUE } from '../../words/en/catalogue.ts'
import { addWords, t } from '../../words/words.ts'
import { COLLECTIONS, type Collection, collectionOf, readList } from './data.ts'
import { Entity } from './entity.tsx'
import { NewEntity } from './new.tsx'

addWords(CATALOGUE)

export default function Page({ params }: PageProps) {
  const collection = collectionOf(params['collection'] ?? 'plans')
  const [isNew, setNew] = useState(false)
  if (collection === null) return <h1 tabIndex={-1}>{t('frame.notFound')}</h1>
  const { name } = collection
  const { key } = params
  if (key !== undefined)
    return <Entity key={`${name} ${key}`} collection={collection} value={key} />
  return (
    <>
      <div class="title">
        <h1 tabIndex={-1}>{t(`catalogue.${name}` as 'catalogue.plans')}</h1>
        {!isNew && (
          <ActionButton action={`${name}/create`} kind="main" onAct={() => setNew(true)}>
            {t('catalogue.new')}
          </ActionButton>
        )}
      </div>
      <CollectionLinks current={name} />
      {isNew && <NewEntity key={name} collection={collection} onClose={() => setNew(false)} />}
      <Entities key={name} collection={collection} />
    </>
  )
}

function CollectionLinks({ current }: { readonly current: string }) {
  return (
    <nav class="tabs" aria-label={t('catalogue.collections')}>
      {COLLECTIONS.map(({ name }) => (
        <a
          key={name}
          href={link(`catalogue/${name}`)}
          aria-current={name === current ? 'page' : undefined}
        >
          {t(`catalogue.${name}` as 'catalogue.plans')}
        </a>
      ))}
    </nav>
  )
}

function Entities({ collection }: { readonly collection: Collection }) {
  const { query } = location.value
  const { name, key } = collection
  const hasEnded = query['ended'] === '1'
  const find = query['find'] ?? ''
  const reading = useList(`${name} ${find} ${hasEnded}`, (after, signal) => {
    return readList(collection, { find, after, states: hasEnded ? [0, 1, 2] : [0, 1] }, signal)
  })
  return (
    <>
      <Filter key={`${find} ${hasEnded}`} find={find} hasEnded={hasEnded} />
      <List
        reading={reading}
        height={10}
        empty={t(find === '' ? 'catalogue.none' : 'catalogue.noneFound')}
        caption={t(`catalogue.${name}` as 'catalogue.plans')}
        columns={columnsOf(collection)}
        keyOf={(row) => textIn(row, key)}
        onOpen={(row) => navigate(addressOf(collection, row))}
      />
    </>
  )
}

function addressOf({ name, key }: Collection, row: Revision): string {
  return `catalogue/${name}/${encodeURIComponent(textIn(row, key))}`
}

/** Named as the fields are. */
function columnsOf(collection: Collection): Column<Revision>[] {
  const day = (of: 'from' | 'to'): Column<Revision> => {
    return { title: timeHeader(of), cell: (row) => <Time value={row[of]} precision="day" /> }
  }
  return [
    {
      title: collection.key,
      cell: (row) => <a href={link(addressOf(collection, row))}>{textIn(row, collection.key)}</a>,
    },
    ...['description', ...collection.columns].map((field) => ({
      title: field,
      cell: (row: Revision) => (
        <span dir="auto">{row[field] === undefined ? '' : leafText(row[field])}</span>
      ),
    })),
    day('from'),
    day('to'),
  ]
}

function Filter({ find, hasEnded }: { readonly find: string; readonly hasEnded: boolean }) {
  const [text, setText] = useState(find)
  const [isChecked, setChecked] = useState(hasEnded)
  const submit = (event: Event) => {
    event.preventDefault()
    navigateHere({
      find: text.trim() || null,
      ended: isChecked ? '1' : null,
      after: null,
    })
  }
  return (
    <search>
      <form class="filter" onSubmit={submit}>
        <Field
          label={t('catalogue.find')}
          value={text}
          onValue={setText}
          input={{ autocomplete: 'off', maxLength: 200 }}
        />
        <label>
          <input type="checkbox" checked={isChecked} onChange={() => setChecked(!isChecked)} />{' '}
          {t('catalogue.ended')}
        </label>
        <div class="buttons">
          <button type="submit">{t('catalogue.show')}</button>
        </div>
      </form>
    </search>
  )
}
