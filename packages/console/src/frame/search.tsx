/** Search for customers: a number goes straight to its owner, a name shows what was found. */
import './search.css'
import { signal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import type { DetailsOf } from '../api/call-types.ts'
import { getAnswer } from '../api/client.ts'
import { pause } from '../api/clock.ts'
import { Refusal } from '../api/errors.ts'
import { Refused } from '../parts/state.tsx'
import { t } from '../words/words.ts'
import { useShortcuts } from './keys.ts'
import { navigate, preload } from './routes.ts'

type Hit = DetailsOf<'api/search'>[number]

interface Found {
  readonly hits: readonly Hit[]
  readonly searched: readonly string[]
  readonly hasMore: boolean
}

interface SearchState {
  readonly q: string
  readonly found: Found | null
  readonly refusal: Refusal | null
  /** The marked hit. */
  readonly at: number
  readonly isOpen: boolean
}

const NOTHING: SearchState = { q: '', found: null, refusal: null, at: 0, isOpen: false }
/** After the last key, ms. */
const TYPING_MS = 250
const NAME_LENGTH_MIN = 2

const state = signal<SearchState>(NOTHING)
let running: AbortController | null = null

/** Address of what was found, for `navigate`. */
function pageOf({ sid, aid }: Hit): string {
  return sid === undefined ? `customer/aid/${aid}` : `customer/sid/${sid}`
}

function open(hit: Hit): void {
  running?.abort()
  state.value = NOTHING
  // The heading of the page gets the focus.
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
  navigate(pageOf(hit))
}

/** Null if a later search has replaced it. */
async function search(q: string, waitMs: number): Promise<Found | null> {
  running?.abort()
  const controller = new AbortController()
  running = controller
  const { signal } = controller
  try {
    if (waitMs > 0) await pause(waitMs, signal)
    const answer = await getAnswer('api/search', { q }, { signal })
    if (signal.aborted) return null
    const { details: hits = [], searched = [], more = false } = answer
    const found = { hits, searched, hasMore: more }
    state.value = { ...state.peek(), found, refusal: null, at: 0, isOpen: true }
    return found
  } catch (error) {
    if (signal.aborted) return null
    if (!(error instanceof Refusal)) throw error
    state.value = { ...state.peek(), found: null, refusal: error, isOpen: true }
    return null
  }
}

function typed(event: Event): void {
  const q = (event.currentTarget as HTMLInputElement).value
  state.value = { ...NOTHING, q }
  if (q.trim().length >= NAME_LENGTH_MIN) void search(q, TYPING_MS)
  else running?.abort()
}

/** Goes to the marked hit, or to the only exact one. */
async function submit(event: Event): Promise<void> {
  event.preventDefault()
  const { q, found, at, isOpen } = state.peek()
  if (q.trim() === '') return
  const present = isOpen && found !== null ? found : await search(q, 0)
  const hits = present?.hits ?? []
  const exact = hits.filter(({ match }) => match === 'exact')
  const only = exact.length === 1 || hits.length === 1
  const hit = isOpen && found !== null ? hits[at] : only ? hits[0] : undefined
  if (hit !== undefined) open(hit)
}

function pressed(event: KeyboardEvent): void {
  const { found, at } = state.peek()
  const last = (found?.hits.length ?? 0) - 1
  if (event.key === 'Escape') state.value = NOTHING
  else if (event.key === 'ArrowDown') state.value = { ...state.peek(), at: Math.min(last, at + 1) }
  else if (event.key === 'ArrowUp') state.value = { ...state.peek(), at: Math.max(0, at - 1) }
  else return
  event.preventDefault()
}

export function Search() {
  const input = useRef<HTMLInputElement>(null)
  const box = useRef<HTMLFormElement>(null)
  const id = useId()
  const focus = () => input.current?.focus()
  useShortcuts([
    { keys: '/', title: 'keys.search', run: focus },
    { keys: 'Control+k', title: 'keys.search', run: focus },
    { keys: 'g c', title: 'keys.customers', run: focus },
  ])
  useEffect(() => {
    const close = ({ target }: Event) => {
      if (!box.current?.contains(target as Node)) state.value = { ...state.peek(), isOpen: false }
    }
    document.addEventListener('pointerdown', close)
    return () => document.removeEventListener('pointerdown', close)
  }, [])
  const { q, at, isOpen, found } = state.value
  const hasHits = isOpen && (found?.hits.length ?? 0) > 0
  return (
    <search class="find">
      <form class="search" ref={box} onSubmit={(event) => void submit(event)}>
        <input
          {...comboboxOf(id, hasHits, at)}
          ref={input}
          type="text"
          enterkeyhint="search"
          aria-label={t('search.label')}
          placeholder={t('search.label')}
          autocomplete="off"
          spellcheck={false}
          value={q}
          onFocus={() => preload('customer')}
          onInput={typed}
          onKeyDown={pressed}
        />
        <Hits id={id} />
      </form>
    </search>
  )
}

/** The types of Preact know this role only for fields with a datalist. */
function comboboxOf(id: string, hasHits: boolean, at: number): object {
  return {
    role: 'combobox',
    'aria-autocomplete': 'list',
    'aria-controls': `${id}-hits`,
    'aria-expanded': hasHits,
    ...(hasHits && { 'aria-activedescendant': `${id}-${at}` }),
  }
}

function Hits({ id }: { readonly id: string }) {
  const { found, refusal, at, isOpen } = state.value
  const hits = found?.hits ?? []
  const isShown = isOpen && (refusal !== null || found !== null)
  return (
    <div class="hits" hidden={!isShown}>
      {refusal !== null && <Refused refusal={refusal} />}
      <div id={`${id}-hits`} role="listbox" aria-label={t('search.hits')}>
        {hits.map((hit, index) => (
          <div
            key={pageOf(hit)}
            id={`${id}-${index}`}
            role="option"
            class="hit"
            aria-selected={index === at}
            onClick={() => open(hit)}
            tabIndex={-1}
            onKeyDown={pressed}
          >
            <HitText hit={hit} />
          </div>
        ))}
      </div>
      {found !== null && hits.length === 0 && (
        <p role="status">{t('search.none', { fields: found.searched.join(', ') })}</p>
      )}
      {found?.hasMore && <p class="muted">{t('search.more')}</p>}
    </div>
  )
}

function HitText({ hit }: { readonly hit: Hit }) {
  const { firstname = '', lastname = '', sid, aid, msisdn, email, plan } = hit
  const name = `${firstname} ${lastname}`.trim()
  const number = sid === undefined ? t('search.account', { aid }) : t('search.subscriber', { sid })
  const more = [msisdn, email, plan].filter((each) => each !== undefined && each !== '')
  return (
    <>
      <strong>{name === '' ? number : name}</strong>{' '}
      <span class="muted">{[...(name === '' ? [] : [number]), ...more].join(' · ')}</span>
    </>
  )
}
