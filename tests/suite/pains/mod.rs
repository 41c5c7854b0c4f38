//! What users of agent teams have suffered from, each as something that does not happen here. Names begin with the row
//! of the list that the project keeps of such pains.

mod life;
mod mail;
mod spawning;
mod tasks;
