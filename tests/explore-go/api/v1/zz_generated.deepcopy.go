package v1

import "k8s.io/apimachinery/pkg/runtime"

// DeepCopyObject copies a Shelf.
func (in *Shelf) DeepCopyObject() runtime.Object {
	out := new(Shelf)
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

// DeepCopyObject copies a ShelfList.
func (in *ShelfList) DeepCopyObject() runtime.Object {
	out := new(ShelfList)
	out.TypeMeta = in.TypeMeta
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range in.Items {
		out.Items = append(out.Items, *in.Items[i].DeepCopyObject().(*Shelf))
	}
	return out
}
