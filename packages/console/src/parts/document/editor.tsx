/** Editor of a document by its schema: fields that are set, others to add, messages at each. */
import './document.css'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { errorAt, type Issue } from '../../api/errors.ts'
import { DOCUMENTS } from '../../words/en/documents.ts'
import { addWords, t } from '../../words/words.ts'
import { Hint } from '../hint.tsx'
import { Scalar } from './scalar.tsx'
import { emptyOf, kindOf, type Schema, type Schemas, schemaFor } from './schemas.ts'
import { TierTable } from './tier-table.tsx'
import { type Document, textOf, type ValuePath, withValue } from './values.ts'

addWords(DOCUMENTS)

interface EditorProps {
  readonly schemas: Schemas
  readonly schema: Schema
  readonly document: Document
  /** Without it the document is only shown. */
  readonly onChange?: ((document: Document) => void) | undefined
  readonly errors?: readonly Issue[]
  /** Members at the top that are not shown, such as the dates of a revision. */
  readonly hidden?: readonly string[]
  /** Shown beside tiers, such as their plot. */
  readonly besideTiers?: (tiers: readonly Document[], path: ValuePath) => ComponentChildren
}

/** Shared by the parts of an editor. */
interface Editing extends Omit<EditorProps, 'schema' | 'document' | 'onChange'> {
  readonly set: ((path: ValuePath, value: unknown) => void) | null
  readonly errors: readonly Issue[]
  readonly hidden: readonly string[]
}

export function DocumentEditor(props: EditorProps) {
  const { document, onChange, schema, errors = [], hidden = [] } = props
  const set =
    onChange === undefined
      ? null
      : (path: ValuePath, value: unknown) => onChange(withValue(document, path, value) as Document)
  const editing: Editing = { ...props, set, errors, hidden }
  return (
    <div class="document">
      <Value editing={editing} schema={schema} path={[]} value={document} />
    </div>
  )
}

interface ValueProps {
  readonly editing: Editing
  readonly schema: Schema
  readonly path: ValuePath
  readonly value: unknown
}

function Value({ editing, schema: declared, path, value }: ValueProps) {
  const { schemas, errors, set, besideTiers } = editing
  const schema = schemaFor(schemas, declared, value)
  const kind = kindOf(schemas, schema)
  const props = { editing, schema, path, value }
  if (kind === 'record') return <RecordValue {...props} />
  if (kind === 'list') return <ListValue {...props} />
  if (kind !== 'tiers') {
    const change = set && ((next: unknown) => set(path, next))
    return (
      <Scalar
        kind={kind}
        schema={schema}
        path={path}
        value={value}
        errors={errors}
        onChange={change}
      />
    )
  }
  const tiers = (Array.isArray(value) ? value : []) as readonly Document[]
  return (
    <Group {...props}>
      <div class="tiers">
        <TierTable
          caption={textOf(path)}
          tiers={tiers}
          onChange={set && ((next) => set(path, next))}
          errors={errors}
          path={textOf(path)}
        />
        {besideTiers?.(tiers, path)}
      </div>
    </Group>
  )
}

/** A compound value with its name, its message, and a button that removes it. */
function Group(props: ValueProps & { readonly children: ComponentChildren }) {
  const { editing, schema, path, children } = props
  if (path.length === 0) return <>{children}</>
  const error = errorAt(editing.errors, textOf(path))
  const name = path.at(-1) ?? ''
  return (
    <fieldset>
      <legend>
        <code>{typeof name === 'number' ? `${path.at(-2)} ${name + 1}` : name}</code>
        <Remove {...props} />
      </legend>
      {schema.description && editing.set !== null && <Hint text={schema.description} />}
      {error !== null && (
        <small class="error" tabIndex={-1}>
          {error}
        </small>
      )}
      {children}
    </fieldset>
  )
}

function Remove({ editing: { set }, path }: ValueProps) {
  if (set === null || path.length < 2) return null
  return (
    <button
      type="button"
      class="plain"
      aria-label={t('document.removeNamed', { name: textOf(path) })}
      onClick={() => set(path, undefined)}
    >
      {t('document.remove')}
    </button>
  )
}

function RecordValue(props: ValueProps) {
  const { editing, schema, path, value } = props
  // The API answers an empty list for an empty object.
  const document = (Array.isArray(value) || value === '' ? {} : (value ?? {})) as Document
  const declared = schema.properties ?? {}
  const isTop = path.length === 0
  const isHidden = (name: string) => isTop && editing.hidden.includes(name)
  const isNeeded = (name: string) => schema.required?.includes(name) === true
  const names = [...new Set([...Object.keys(declared), ...Object.keys(document)])]
  const visible = names.filter((name) => {
    return !isHidden(name) && (document[name] !== undefined || isNeeded(name))
  })
  const absent = Object.keys(declared).filter((name) => !isHidden(name) && !visible.includes(name))
  const other = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : null
  return (
    <Group {...props}>
      <div class="members">
        {visible.map((name) => (
          <Value
            key={name}
            editing={editing}
            schema={declared[name] ?? other ?? {}}
            path={[...path, name]}
            value={document[name]}
          />
        ))}
      </div>
      {editing.set !== null && (absent.length > 0 || other !== null) && (
        <AddMember {...props} absent={absent} declared={declared} other={other} />
      )}
    </Group>
  )
}

interface AddMemberProps extends ValueProps {
  readonly absent: readonly string[]
  readonly declared: Readonly<Record<string, Schema>>
  /** Schema of members with any name; null if only declared ones are allowed. */
  readonly other: Schema | null
}

function AddMember({ editing, path, absent, declared, other }: AddMemberProps) {
  const [name, setName] = useState('')
  const { schemas, set } = editing
  const add = (chosen: string) => {
    if (chosen === '') return
    set?.([...path, chosen], emptyOf(schemas, declared[chosen] ?? other ?? {}))
    setName('')
  }
  const at = path.length === 0 ? '' : textOf(path)
  return (
    <div class="add">
      {absent.length > 0 && (
        <select
          aria-label={t('document.addField', { path: at })}
          value=""
          onChange={(event) => add(event.currentTarget.value)}
        >
          <option value="">{t('document.add')}</option>
          {absent.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      )}
      {other !== null && (
        <>
          <input
            aria-label={t('document.newName', { path: at })}
            placeholder={t('document.name')}
            value={name}
            maxLength={200}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <button type="button" onClick={() => add(name.trim())}>
            {t('document.addNamed')}
          </button>
        </>
      )}
    </div>
  )
}

function ListValue(props: ValueProps) {
  const { editing, schema, path, value } = props
  const items = Array.isArray(value) ? value : []
  const item = schema.items ?? {}
  const add = () => editing.set?.(path, [...items, emptyOf(editing.schemas, item)])
  return (
    <Group {...props}>
      {items.map((each, index) => (
        <Value key={index} editing={editing} schema={item} path={[...path, index]} value={each} />
      ))}
      {editing.set !== null && (
        <button type="button" onClick={add}>
          {t('document.addItem', { list: String(path.at(-1)) })}
        </button>
      )}
    </Group>
  )
}
