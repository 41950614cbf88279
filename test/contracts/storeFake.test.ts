import { fakeStore } from '../fakes/store.ts'
import { storeContract } from './store.ts'

storeContract('the contract of an object store holds for the fake', async () => {
  const wallMs = () => 1_700_000_000_000
  return { store: fakeStore({ wallMs }), wallMs, dispose: async () => {} }
})
